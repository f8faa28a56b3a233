// Package output writes numbers and times for people.
package output

import (
	"fmt"
	"time"
)

// Plural returns n and what it counts, with an s unless n is 1.
func Plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Duration returns d with two or three digits, as in "812 ms", "3.2 s", "5 min", "7 h", "12 d".
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// Bytes returns n in binary units, as in "12 KiB".
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, u := float64(n)/1024, 0
	for x >= 1024 && u < len(units)-1 {
		x /= 1024
		u++
	}
	if x < 10 {
		return fmt.Sprintf("%.1f %ciB", x, units[u])
	}
	return fmt.Sprintf("%.0f %ciB", x, units[u])
}
