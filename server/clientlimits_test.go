package server

import (
	"strings"
	"testing"

	"tenure/server/admission"
)

// Connections leave files to spare for the node itself.
func TestConnectionsLeaveFilesForTheNode(t *testing.T) {
	for _, c := range []struct {
		files       uint64
		conns, want int
		fewer       bool
	}{
		{1 << 20, 0, admission.DefaultConns, false}, {0, 0, admission.DefaultConns, false}, {20_000, 19_488, 19_488, false},
		{20_000, 19_489, 19_488, true}, {4096, 0, 3584, true}, {1024, 0, 512, true}, {256, 0, 128, true},
		{64, 0, 16, true}, {1, 0, 2, true},
	} {
		l, fewer := Limits{Limits: admission.Limits{Conns: c.conns}}.within(c.files)
		if l.Conns != c.want || fewer != c.fewer {
			t.Errorf("%d connections, %d files: %d, fewer %v", c.conns, c.files, l.Conns, fewer)
		}
		if err := l.validate(); err != nil {
			t.Errorf("%d files: %v", c.files, err)
		}
	}
}

func TestRequestsHavePlacesInTheInbox(t *testing.T) {
	l := Limits{Limits: admission.Limits{Requests: MostRequests + 1}}
	if err := l.validate(); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Error(err)
	}
	if (Limits{}).WithDefaults().Requests > MostRequests {
		t.Error("the default is more than the inbox takes")
	}
}
