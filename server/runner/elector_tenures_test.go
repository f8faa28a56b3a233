package runner

import (
	"runtime"
	"testing"
	"time"

	"tenure/api"
)

// Status shows the newest changes, oldest first, and no more than fit.
func TestShownTenureChangesAreBounded(t *testing.T) {
	var c tenureChanges
	if l := c.list(); l == nil || len(l) != 0 {
		t.Errorf("%v", l)
	}
	for i := range 3 * maxShownChanges {
		before := c.list()
		c.add(api.TenureChange{HeldMS: int64(i)})
		if l := c.list(); l[len(l)-1].HeldMS != int64(i) || len(before) > 0 && before[len(before)-1].HeldMS != int64(i-1) {
			t.Fatalf("after %d: %v, the list of before: %v", i, l, before)
		}
	}
	if l := c.list(); len(l) != maxShownChanges || l[0].HeldMS != 2*maxShownChanges {
		t.Errorf("%v", l)
	}
}

// The meter tells processor time that was used from a clock that went on alone.
func TestGapMeter(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := newGapMeter()
	defer m.close()
	began := time.Now()
	m.read(0)
	for time.Since(began) < 50*time.Millisecond {
	}
	used := m.read(time.Since(began))
	if used.Processor <= 0 || used.Jumped > time.Millisecond {
		t.Errorf("%+v after computing", used)
	}
	if g := m.read(time.Since(began) + time.Hour); g.Jumped < 59*time.Minute {
		t.Errorf("%+v after a jump of an hour", g)
	}
}
