//go:build !tenure_testclock

package clock

import "time"

// adjust is the seam for a clock that errs on purpose, in test builds only. Here readings are left as they are.
func adjust(d time.Duration) time.Duration { return d }
