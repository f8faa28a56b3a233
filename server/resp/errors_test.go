package resp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenure/api"
	"tenure/kv"
	"tenure/server/audit"
	"tenure/server/service"
)

// Clients repeat a command by themselves after some replies. None of these may be that to a command that may have been
// applied, and no other reply may be that to an unknown outcome.
func TestEveryCodeHasAPrefix(t *testing.T) {
	for _, code := range api.Codes() {
		prefix, ok := prefixes[code]
		switch unknown := service.OutcomeOf(code) == audit.Unknown; {
		case !ok:
			t.Errorf("code %s has no prefix", code)
		case unknown != strings.HasPrefix(prefix, "UNKNOWN"):
			t.Errorf("code %s: -%s", code, prefix)
		}
	}
	if len(prefixes) != len(api.Codes()) {
		t.Errorf("%d prefixes, %d codes", len(prefixes), len(api.Codes()))
	}
	if got := errorText(errors.New("a disk")); got != "ERR a disk" {
		t.Error(got)
	}
}

// A refusal by the log begins as its code says, but where Redis has words of its own.
func TestRefusalsBeginAsTheirCode(t *testing.T) {
	own := []kv.Code{kv.CodeBaseAhead} // NOTONCE: it is about the key, as when that was used before
	for code := kv.CodeDone; code < 30; code++ {
		text, ok := refusalText(result{code: code})
		if ok && !slices.Contains(own, code) && !strings.HasPrefix(text, prefixes[service.CodeOfResult(code)]+" ") {
			t.Errorf("%v: %q, code %q", code, text, service.CodeOfResult(code))
		}
	}
}

func TestUnknownIsSaidOnce(t *testing.T) {
	err := fmt.Errorf("%w: the connection to the master broke", service.ErrUnknown)
	if got := errorText(err); got != "UNKNOWN outcome: the connection to the master broke" {
		t.Error(got)
	}
}

func TestPatternsOfConfigGetAreBounded(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	s.wantPrefix("-ERR CONFIG GET takes at most 128 patterns", "CONFIG GET"+strings.Repeat(" a", 129))
	s.wantPrefix("[maxmemory", "CONFIG GET maxmemory"+strings.Repeat(" a", 127))
}
