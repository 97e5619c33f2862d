// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// stepError is the panic that ends a measurement after an error. Measurements have too many steps to return each error.
type stepError struct{ error }

func check(err error) {
	if err != nil {
		panic(stepError{err})
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

// attempt runs a measurement or a part of it. If the function check ends the measurement, attempt returns the error.
func attempt(measure func()) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case stepError:
			err = reason.error
		default:
			panic(reason)
		}
	}()
	measure()
	return nil
}

func during(part string, measure func()) {
	if err := attempt(measure); err != nil {
		check(fmt.Errorf("%s: %w", part, err))
	}
}
