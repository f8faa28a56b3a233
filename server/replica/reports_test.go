package replica

import (
	"testing"
	"time"

	"tenure/internal/quorum"
)

// M6: only a voter could be master, so a non-voter that is able is nobody to let go for. A voter may be able, or fit.
func TestM6ANonVoterIsNobodyToLetGoFor(t *testing.T) {
	var r Reports
	voters := quorum.Of(1, 2, 3)
	r.Hear(time.Minute, 4, Health{Able: true})
	r.Hear(time.Minute, 2, Health{GetsOn: true})
	if at := r.Able(voters); at != 0 {
		t.Errorf("able at %v", at)
	}
	r.Hear(time.Minute+2, 3, Health{Fit: true})
	r.Hear(time.Minute+1, 2, Health{Able: true})
	if at := r.Able(voters); at != time.Minute+2 {
		t.Errorf("able at %v", at)
	}
}

// The log part takes each report once, the newest of a node.
func TestReportsAreTakenOnce(t *testing.T) {
	var r Reports
	r.Hear(1, 2, Health{Able: true})
	r.Hear(2, 3, Health{Able: true})
	r.Hear(3, 2, Health{})
	taken := r.Take(nil)
	if len(taken) != 2 || taken[0].From != 3 || !taken[0].Health.Able || taken[1].From != 2 || taken[1].Health.Able ||
		taken[0].Heard != 2 || taken[1].Heard != 3 {
		t.Errorf("%+v", taken)
	}
	if again := r.Take(nil); len(again) != 0 || r.Able(quorum.Of(2, 3)) != 0 {
		t.Errorf("taken again: %+v", again)
	}
}
