// Package days reads lengths of time as people write them: those of the time package, and days and weeks.
package days

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// day is what 1d stands for: days of a calendar that begin with a change of the clocks are longer or shorter.
const day = 24 * time.Hour

// Parse reads a length of time that is not negative: 90s, 36h, 7d or 2w.
func Parse(text string) (time.Duration, error) {
	for _, unit := range []struct {
		suffix string
		length time.Duration
	}{{"d", day}, {"w", 7 * day}} {
		if number, ok := strings.CutSuffix(text, unit.suffix); ok {
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil || n > uint64((1<<63-1)/unit.length) {
				return 0, invalid(text)
			}
			return time.Duration(n) * unit.length, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, invalid(text)
	}
	if d < 0 {
		return 0, fmt.Errorf("%s is negative", text)
	}
	return d, nil
}

func invalid(text string) error {
	return fmt.Errorf("%q is not a length of time; write it with its unit, like 36h, 7d or 2w", text)
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
