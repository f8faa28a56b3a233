package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/internal/suggest"
)

// unit is a suffix of a number.
type unit struct {
	name string
	size uint64
}

var (
	byteUnits = []unit{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
	}
	countUnits = []unit{{"k", 1e3}, {"M", 1e6}, {"G", 1e9}}
)

// sized is the value of a flag that takes a number of at least 1 with an optional unit.
type sized struct {
	n     uint64
	units []unit
	like  string // examples, for errors
}

// String returns the flag's value.
func (s *sized) String() string { return strconv.FormatUint(s.n, 10) }

// Type returns the name of the value in help texts.
func (s *sized) Type() string { return "N" }

// Set reads the flag's value.
func (s *sized) Set(text string) error {
	end := len(text)
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		end = i
	}
	n, err := strconv.ParseUint(text[:end], 10, 64)
	if err != nil {
		return errors.New("must be a number from 1 up, " + s.like)
	}
	name, size := strings.TrimSpace(text[end:]), uint64(1)
	if name != "" {
		var names []string
		size = 0
		for _, u := range s.units {
			names = append(names, u.name)
			if u.name == name {
				size = u.size
			}
		}
		if size == 0 {
			return fmt.Errorf("%q is no unit; write it %s%s", name, s.like, suggest.Question(name, text[:end], names))
		}
	}
	switch {
	case n == 0:
		return errors.New("must be at least 1; without the flag there is no limit")
	case n > math.MaxUint64/size || n*size > api.MaxQuota:
		return fmt.Errorf("is more than any store has; the most is %d", int64(api.MaxQuota))
	}
	s.n = n * size
	return nil
}
