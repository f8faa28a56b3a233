package space

import "testing"

func TestJudgeHasHysteresis(t *testing.T) {
	const mib = 1 << 20
	for _, r := range []struct {
		name                 string
		quota                int64
		log, state           int64
		logSpace, stateSpace int64
		was, low, fully      bool
	}{
		{"plenty", 0, 1, 1, 100 * mib, 100 * mib, false, false, false},
		{"at the reserve", 0, 1, 1, 100 * mib, 8 * mib, false, false, false},
		{"below the reserve", 0, 1, 1, 100 * mib, 8*mib - 1, false, true, false},
		{"a little more is not enough to heal", 0, 1, 1, 100 * mib, 9 * mib, true, true, false},
		{"a quarter more heals", 0, 1, 1, 100 * mib, 10 * mib, true, false, false},
		{"nearly nothing", 0, 1, 1, 100 * mib, 2*mib - 1, true, true, true},
		{"log half full", 0, 1, 1, 2 * mib, 100 * mib, false, false, false},
		{"log more than half full", 0, 1, 1, 2*mib - 1, 100 * mib, false, true, false},
		{"log healed by truncation alone", 0, 1, 1, 5 * mib / 2, 100 * mib, true, false, false},
		{"log nearly full", 0, 1, 1, mib/2 - 1, 100 * mib, false, true, true},
		{"quota reached by both", 20 * mib, 5 * mib, 15 * mib, 100 * mib, 100 * mib, false, true, false},
		{"quota nearly", 20 * mib, 5 * mib, 15*mib - 1, 100 * mib, 100 * mib, false, false, false},
		{"quota not yet healed", 20 * mib, 5 * mib, 15*mib - 1, 100 * mib, 100 * mib, true, true, false},
		{"quota healed", 20 * mib, 5 * mib, 14*mib - 1, 100 * mib, 100 * mib, true, false, false},
	} {
		u := Usage{LogBytes: r.log, StateBytes: r.state, LogFileBytes: 4 * mib, ReserveBytes: 8 * mib,
			QuotaBytes: r.quota}
		u.classify(Usage{Low: r.was, Tight: r.was, Full: r.was && r.fully}, r.logSpace, r.stateSpace)
		if u.Low != r.low || u.Full != r.fully {
			t.Errorf("%s: low %v, full %v", r.name, u.Low, u.Full)
		}
	}
}

// A quota governs new data. Entries that others have accepted are stored and learned while the file system has space.
func TestQuotaNeverStopsStoring(t *testing.T) {
	const mib = 1 << 20
	u := Usage{LogBytes: 60 * mib, StateBytes: 40 * mib, LogFileBytes: 4 * mib, ReserveBytes: 8 * mib,
		QuotaBytes: 20 * mib}
	u.classify(Usage{Low: true, Tight: true, Full: true}, 100*mib, 100*mib)
	if !u.Low || u.Tight || u.Full {
		t.Errorf("five times the quota: low %v, tight %v, full %v", u.Low, u.Tight, u.Full)
	}
}
