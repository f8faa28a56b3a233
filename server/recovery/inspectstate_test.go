package recovery

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"tenure/kv"
)

// Quotas, policies and tokens of the state are shown as what they say, and damaged ones as bytes with what is wrong.
func TestRegistersAreShownAsText(t *testing.T) {
	s, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	all := examples()
	commands := []kv.Command{all[kv.OpLevel].Command, all[kv.OpQuota].Command, all[kv.OpPutPolicy].Command,
		all[kv.OpPutToken].Command}
	for i := range commands {
		r, err := s.Apply(uint64(i+1), kv.AppendBatch(nil, kv.EncodeCommand(&commands[i])))
		if err != nil || r[0].Code != kv.CodeDone {
			t.Fatal(r, err)
		}
	}
	records := map[kv.RecordKind][2][]byte{}
	for c := range s.Freeze().Checkpoint().Changes {
		records[c.Kind] = [2][]byte{slices.Clone(c.Key), slices.Clone(c.Value)}
	}
	for space, want := range map[kv.RecordKind]string{
		kv.KindQuota:  `quota "k" = 1048576 bytes 7 keys`,
		kv.KindPolicy: fmt.Sprintf(`policy %q = "app", description "", rules "key \"k\" { policy = \"read\" }"  revision 2`, policyID),
		kv.KindToken: fmt.Sprintf(`token %q = "n", description "", policies [%q], certificate "c", expires `+
			`1970-01-01T00:00:01Z  revision 3`, accessor, policyID),
	} {
		var out strings.Builder
		p := &inspector{w: &out, json: json.NewEncoder(io.Discard)}
		r, there := records[space]
		if p.record(space, r[0], r[1]); !there || strings.TrimSpace(out.String()) != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
		out.Reset()
		if p.record(space, r[0], r[1][1:]); !strings.Contains(out.String(), "damaged") && !strings.Contains(out.String(), "not") {
			t.Errorf("without its first byte: %q", out.String())
		}
	}
}
