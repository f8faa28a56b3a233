package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/server/service"
)

func (f *fake) Upgrade() api.Upgrade { return f.upgrade }

func (f *fake) FinishUpgrade(time.Duration) (api.Upgrade, error) {
	f.finished++
	return f.upgrade, f.upgradeErr
}

func TestTheUpgradeIsShownAndFinished(t *testing.T) {
	f := newFake(t)
	f.upgrade = api.Upgrade{NewestLevel: 1, RaisesInMS: -1,
		Members: []api.MemberLevel{{Node: 1, Name: "node-1", Level: 1, Heard: true}}}
	s := newServer(t, f)
	if w := call(s, "GET", api.PathUpgrade, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(),
		`"newest_level":1`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, body := range []string{"", `{"dry_run":true}`, `{}`} {
		before := f.finished
		w := call(s, "POST", api.PathUpgradeFinish, body)
		var got api.Upgrade
		if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil || got.NewestLevel != 1 {
			t.Fatalf("finish with %q: %d %s", body, w.Code, w.Body)
		}
		if raised := f.finished > before; raised == strings.Contains(body, "true") {
			t.Errorf("finish with %q raised the level: %v", body, raised)
		}
	}
	f.upgradeErr = &service.Error{Code: api.CodeMemberState, Text: "not raised: node 3 runs an older release"}
	w := call(s, "POST", api.PathUpgradeFinish, "")
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "node 3") {
		t.Errorf("with an older member: %d %s", w.Code, w.Body)
	}
	if w := call(s, "POST", api.PathUpgradeFinish, `{"dry":true}`); w.Code != http.StatusBadRequest {
		t.Errorf("a member that is not known: %d %s", w.Code, w.Body)
	}
}
