<?php
// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stores or finds a value like one_address.py, but in a session. The first argument is a php.ini.

error_reporting(E_ALL);
set_error_handler(function ($level, $text) { fwrite(STDERR, "$text\n"); exit(1); });
foreach (parse_ini_file($argv[1]) as $name => $value) {
    ini_set($name, $value);
}
ini_set('session.use_cookies', '0');
session_id('0123456789abcdef');
session_start();
if ($argv[2] === 'store') {
    $_SESSION['user'] = 42;
} elseif ($_SESSION['user'] !== 42) {
    exit('no user');
}
session_write_close();
echo "done\n";
