// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// stepError is the panic of a measurement in which a step has failed. Measurements have too many steps to return each error.
type stepError struct{ error }

// check ends the measurement if there is an error.
func check(err error) {
	if err != nil {
		panic(stepError{err})
	}
}

// must returns the value, unless an error ends the measurement.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// attempt runs a measurement or a part of it, and returns the error with which check has ended it.
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

// during runs a part of a measurement, and adds the name of the part to its error.
func during(part string, measure func()) {
	if err := attempt(measure); err != nil {
		check(fmt.Errorf("%s: %w", part, err))
	}
}
