package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tenure/jepsen/bench"
	"tenure/jepsen/cluster"
)

// look is a linearizable listing of all keys of the few clients.
type look struct {
	index uint64 // newest revision below the prefix; the listing shows the state at this revision
	body  []byte // as received
}

// mostLooks bounds the remembered looks. Of more looks a random sample is kept.
const mostLooks = 200

// look takes a listing every lookEvery until ctx ends.
func (f *few) look(ctx context.Context, endpoint string) error {
	for n := 0; ; n++ {
		if !cluster.Pause(ctx, lookEvery) {
			return nil
		}
		one, err := list(ctx, endpoint)
		if err != nil {
			return err
		}
		if len(f.seen) < mostLooks {
			f.seen = append(f.seen, one)
		} else if i := rand.IntN(n + 1); i < mostLooks {
			f.seen[i] = one
		}
	}
}

// list lists everything below fewPrefix.
func list(ctx context.Context, endpoint string) (l look, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/v1/kv/"+fewPrefix+"?recurse", nil)
	if err != nil {
		return l, err
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return l, err
	}
	defer rsp.Body.Close()
	if l.body, err = io.ReadAll(io.LimitReader(rsp.Body, 64<<20)); err != nil {
		return l, err
	}
	if rsp.StatusCode != http.StatusOK && rsp.StatusCode != http.StatusNotFound {
		return l, fmt.Errorf("a listing: status %d: %.200s", rsp.StatusCode, l.body)
	}
	l.index, err = strconv.ParseUint(rsp.Header.Get("X-Consul-Index"), 10, 64)
	return l, err
}

// Restored is one restore from the archive.
type Restored struct {
	Revision uint64        `json:"revision"`
	Entries  int           `json:"entries"` // number of compared entries
	Took     time.Duration `json:"took_ns"`
}

// restoreAll restores the archive at some of the revisions of seen, and compares the states with the listings.
func (m *measurement) restoreAll(ctx context.Context, seen []look) (all []Restored, err error) {
	rand.Shuffle(len(seen), func(i, j int) { seen[i], seen[j] = seen[j], seen[i] })
	for i, l := range seen[:min(m.cfg.Restores, len(seen))] {
		r, err := m.restore(ctx, fmt.Sprintf("restored-%d", i), l)
		if err != nil {
			return all, fmt.Errorf("restore at revision %d: %w", l.index, err)
		}
		all = append(all, r)
		m.say("restored at revision %d in %.1f s: %d entries are what a reader saw", r.Revision, r.Took.Seconds(),
			r.Entries)
	}
	return all, nil
}

// restore restores the archive at the revision of l, starts a node on the result, and compares its listing with l.
func (m *measurement) restore(ctx context.Context, name string, l look) (r Restored, err error) {
	data, began := filepath.Join(m.cfg.Dir, name), time.Now()
	out, err := exec.CommandContext(ctx, m.cfg.Kvnode, "restore", "file://"+m.archive, "--data", data, "--at",
		strconv.FormatUint(l.index, 10)).CombinedOutput()
	if err != nil {
		return r, fmt.Errorf("kvnode restore: %w: %s", err, out)
	}
	took := time.Since(began)
	one, err := cluster.New(cluster.Config{Binaries: cluster.Binaries{Kvnode: m.cfg.Kvnode},
		Dir: filepath.Join(m.cfg.Dir, name+"-node"), Nodes: 1})
	if err != nil {
		return r, err
	}
	one.Settle(one.Node(1), data)
	if err := bench.Start(ctx, one); err != nil {
		return r, err
	}
	defer one.Stop(stopGrace)
	there, err := list(ctx, one.Endpoints()[0])
	if err != nil {
		return r, err
	}
	saw, n, err := withoutTimes(l.body)
	if err != nil {
		return r, err
	}
	has, _, err := withoutTimes(there.body)
	if err != nil {
		return r, err
	}
	if !bytes.Equal(saw, has) {
		file := filepath.Join(m.cfg.Dir, name+".differs")
		_ = os.WriteFile(file, fmt.Appendf(nil, "%s\n%s\n", saw, has), 0o600)
		return r, fmt.Errorf("it is not what a reader saw; both are in %s", file)
	}
	one.Stop(stopGrace)
	return Restored{Revision: l.index, Entries: n, Took: took}, os.RemoveAll(data)
}

// withoutTimes returns a listing without the fields that change with time alone, the remaining lives of keys, and the
// number of its entries.
func withoutTimes(body []byte) (out []byte, n int, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, 0, nil
	}
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		for name := range e {
			if strings.HasPrefix(name, "Expires") {
				delete(e, name)
			}
		}
	}
	out, err = json.Marshal(entries)
	return out, len(entries), err
}
