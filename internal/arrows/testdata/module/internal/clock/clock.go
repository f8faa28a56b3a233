package clock

import "time"

// N is a number.
const N = 1

var _ = time.Now
