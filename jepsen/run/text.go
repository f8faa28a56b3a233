package run

import "strconv"

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

func f1(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
