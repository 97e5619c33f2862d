// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0
//
// The test appends this driver to the code of docs/clients/php.md. It accepts "fill N" and "read N" as driver.py does.

while (($line = fgets(STDIN)) !== false) {
    [$command, $keys] = explode(' ', trim($line));
    [$succeeded, $failed, $first] = [0, 0, ''];
    for ($number = 1; $number <= (int) $keys; $number++) {
        $key = sprintf('key-%06d', $number);
        $done = $command === 'fill' ? cache()->set($key, 'value', 600) : cache()->get($key) === 'value';
        $succeeded += $done ? 1 : 0;
        if (!in_array(cache()->getResultCode(), [Memcached::RES_SUCCESS, Memcached::RES_NOTFOUND])) {
            $failed++;
            $first = $first ?: cache()->getResultMessage();
        }
    }
    echo "$succeeded $failed $first\n";
}
