package main

import (
	"errors"
	"strconv"
)

// decimal is the value of a flag that takes a number from 0 up. Unlike pflag's own it reads 010 as ten, as the API and
// the arguments of the other commands do.
type decimal uint64

// String is the flag's value.
func (d *decimal) String() string { return strconv.FormatUint(uint64(*d), 10) }

// Type names the value in usage texts.
func (d *decimal) Type() string { return "uint64" }

// Set reads the flag's value.
func (d *decimal) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errors.New("must be a number from 0 up")
	}
	*d = decimal(n)
	return nil
}
