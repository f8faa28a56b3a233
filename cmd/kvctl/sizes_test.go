package main

import (
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	for _, r := range []struct {
		text  string
		units []unit
		n     uint64
		says  string // of the error
	}{
		{"1048576", byteUnits, 1 << 20, ""},
		{"100MiB", byteUnits, 100 << 20, ""},
		{"1 GB", byteUnits, 1e9, ""},
		{"10k", countUnits, 10_000, ""},
		{"2M", countUnits, 2_000_000, ""},
		{"100Mib", byteUnits, 0, "did you mean 100MiB"},
		{"100mb", byteUnits, 0, "did you mean 100MB"},
		{"10K", countUnits, 0, "did you mean 10k"},
		{"10kk", countUnits, 0, "is no unit"},
		{"MiB", byteUnits, 0, "must be a number"},
		{"-1", byteUnits, 0, "must be a number"},
		{"1.5GiB", byteUnits, 0, "is no unit"},
		{"0", countUnits, 0, "at least 1"},
		{"99999999999TiB", byteUnits, 0, "more than any store"},
	} {
		s := sized{units: r.units, like: "such as 7"}
		err := s.Set(r.text)
		if s.n != r.n || (err == nil) != (r.says == "") || err != nil && !strings.Contains(err.Error(), r.says) {
			t.Errorf("%q: %d, %v; want %d, %q", r.text, s.n, err, r.n, r.says)
		}
	}
}
