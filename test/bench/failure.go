// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// stepError is the panic that ends a measurement after an error. Measurements have too many steps to return each error.
type stepError struct{ error }

// check ends the measurement if err is not nil.
func check(err error) {
	if err != nil {
		panic(stepError{err})
	}
}

// must returns the value if err is nil, and otherwise ends the measurement.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// attempt runs a measurement or a part of it. If check ends it, attempt returns the error.
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

// during runs a part of a measurement. If the part fails, its name becomes part of the error.
func during(part string, measure func()) {
	if err := attempt(measure); err != nil {
		check(fmt.Errorf("%s: %w", part, err))
	}
}
