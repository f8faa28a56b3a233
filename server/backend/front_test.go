package backend

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// A closed Front answers no request, even if its Backend comes later.
func TestAClosedFrontRefusesEverything(t *testing.T) {
	f := NewFront(api.Status{})
	f.Close("this cluster has tokens")
	f.Serve(&Backend{}) // whatever would be asked of it panics
	_, write := f.Write(time.Second, kv.Command{}, nil)
	_, drawn := f.WriteDrawn(time.Second, kv.Command{}, nil)
	_, _, _, get := f.Get(time.Second, service.Stale, "k")
	_, _, snapshot := f.Snapshot(time.Second, service.Stale)
	_, many := f.GetMany(time.Second, service.Stale, nil, nil)
	_, lease := f.Lease(t.Context(), service.LeaseCommand{})
	for what, err := range map[string]error{"write": write, "drawn": drawn, "get": get, "snapshot": snapshot,
		"lease": lease, "many": many, "ready": f.Ready()} {
		if !errors.Is(err, service.ErrNotApplied) || !strings.Contains(err.Error(), "has tokens") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if f.Status().Problem != "this cluster has tokens" {
		t.Error("the status does not say why")
	}
}

// A read that was under way when the front was closed shows nothing that may be newer than the first token.
func TestWhatIsReadWhileTheFrontIsClosedIsRefused(t *testing.T) {
	f := NewFront(api.Status{})
	if err := f.serving.stillOpen(nil); err != nil {
		t.Fatal(err)
	}
	f.Close("this cluster has tokens")
	if err := f.serving.stillOpen(nil); !errors.Is(err, service.ErrNotApplied) {
		t.Error(err)
	}
}
