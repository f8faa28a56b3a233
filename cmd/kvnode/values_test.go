package main

import "testing"

func TestDriftIsRoundedUp(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "0.01": 10_000, "1%": 10_000, "0.1%": 1_000, "10%": 100_000, "0.1": 100_000, ".5%": 5_000,
		"0.0000001": 1, "0.00001%": 1, "0.0100001": 10_001,
	} {
		if got, err := parseDrift(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "1/3", "1e-3", "NaN", "Inf", "0.1000001", "10.00001%", "1%%", "0x1"} {
		if got, err := parseDrift(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "7B": 7, "512KiB": 512 << 10, "16MiB": 16 << 20, "10GiB": 10 << 30, "2TiB": 2 << 40,
		"10 GiB": 10 << 30,
		"5kB":    5000, "5KB": 5000, "1MB": 1e6, "1GB": 1e9, "1TB": 1e12, "9223372036854775807": 1<<63 - 1,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "KiB", "-1", "1.5GiB", "1Gi", "9223372036854775808", "8388608TiB", "1 0"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}
