// Package days reads lengths of time as people write them: those of the time package, and days and weeks.
package days

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// day is what 1d stands for: days of a calendar that begin with a change of the clocks are longer or shorter.
const day = 24 * time.Hour

// longest is the longest time in whole days that is a time.Duration: 106,751 days.
const longest = math.MaxInt64 / day * day

// Parse reads a length of time that is not negative: 90s, 36h, 7d, 1d12h or 2w.
func Parse(text string) (time.Duration, error) {
	d, err := ParseSigned(text)
	if err == nil && d < 0 {
		return 0, fmt.Errorf("%s is negative; use 0 or more", text)
	}
	return d, err
}

// ParseSigned is Parse, and reads what time.ParseDuration does of negative ones.
func ParseSigned(text string) (time.Duration, error) {
	var sum time.Duration
	rest := text
	for _, unit := range []struct {
		letter byte
		length time.Duration
	}{{'w', 7 * day}, {'d', day}} {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == len(rest) || rest[digits] != unit.letter {
			continue
		}
		n, err := strconv.ParseUint(rest[:digits], 10, 64)
		if err != nil || n > uint64((longest-sum)/unit.length) {
			return 0, tooLong(text)
		}
		sum, rest = sum+time.Duration(n)*unit.length, rest[digits+1:]
	}
	if rest == "" && text != "" {
		return sum, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || rest != text && (d < 0 || strings.HasPrefix(rest, "+")) {
		return 0, invalid(text)
	}
	if d > 0 && sum > math.MaxInt64-d {
		return 0, tooLong(text)
	}
	return sum + d, nil
}

func tooLong(text string) error {
	return fmt.Errorf("%.40q is too long; at most %dd are possible", text, longest/day)
}

func invalid(text string) error {
	if MissesUnit(text) {
		return fmt.Errorf("%q has no unit; write it like %ss or %sm", text, text, text)
	}
	return fmt.Errorf("%.40q is not a length of time; write it with its unit, like 30s, 36h, 7d or 2w", text)
}

// MissesUnit reports whether text is a number, and would be a length of time with a unit behind it.
func MissesUnit(text string) bool {
	_, err := time.ParseDuration(text + "s")
	return err == nil && strings.Trim(text, "0123456789.") == ""
}

// Value is a flag of a command line.
type Value time.Duration

// Set implements pflag.Value.
func (v *Value) Set(text string) error {
	d, err := Parse(text)
	*v = Value(d)
	return err
}

// String implements pflag.Value.
func (v *Value) String() string { return time.Duration(*v).String() }

// Type implements pflag.Value.
func (v *Value) Type() string { return "length" }
