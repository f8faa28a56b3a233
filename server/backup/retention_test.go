package backup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ident"
)

func TestNames(t *testing.T) {
	i := Info{Cluster: ident.ClusterID{0x8c, 0x0d, 0x3f, 0x5b}, Revision: 48211,
		Made: time.Date(2026, 11, 23, 3, 0, 1, 5e8, time.FixedZone("", 3600))}
	name := NameOf(i)
	if name != "tenure-8c0d3f5b-20261123T020001Z-r48211.backup" {
		t.Error(name)
	}
	want := File{name + ".age", "8c0d3f5b", time.Date(2026, 11, 23, 2, 0, 1, 0, time.UTC), 48211, true}
	if got, ok := ParseName(name + ".age"); !ok || got != want {
		t.Errorf("%+v %v", got, ok)
	}
	if got, ok := ParseName(name); !ok || got.Encrypted || got.Name != name {
		t.Errorf("%+v %v", got, ok)
	}
	for _, other := range []string{
		"", "tenure.backup", "a/" + name, name + ".partial", name + "\n", " " + name, name + ".age.age",
		"tenure-8c0d3f5b-20261323T020001Z-r48211.backup",
		"tenure-8c0d3f5b-20261123T020001Z-r99999999999999999999.backup",
		"tenure-8C0D3F5B-20261123T020001Z-r48211.backup",
	} {
		if got, ok := ParseName(other); ok {
			t.Errorf("%q: %+v", other, got)
		}
	}
}

// file returns a backup of a cluster at a time like 2026-11-23T02:00.
func file(cluster, made string, revision uint64) File {
	at, err := time.Parse("2006-01-02T15:04", made)
	if err != nil {
		panic(err)
	}
	return File{Name: fmt.Sprintf("%s-%s-%d", cluster, made, revision), Cluster: cluster, Made: at, Revision: revision}
}

func TestRetention(t *testing.T) {
	var files []File
	for i, made := range []string{"2026-08-31T02:00", "2026-10-31T02:00", "2026-11-01T02:00", "2026-11-15T02:00",
		"2026-11-20T02:00", "2026-11-22T02:00", "2026-11-22T14:00", "2026-11-23T02:00", "2026-11-23T03:00"} {
		files = append(files, file("a", made, uint64(i+1)))
	}
	all := Retention{Last: 1, Daily: 1, Monthly: 1}
	day := Retention{Within: 25 * time.Hour}
	for want, r := range map[string]Retention{
		"9 newest":                   {},
		"9 newest, last 1; 8 last 2": {Last: 2},
		"9 newest, day 2026-11-23; 7 day 2026-11-22; 5 day 2026-11-20":                                {Daily: 3},
		"9 newest, week 2026-W48; 7 week 2026-W47; 4 week 2026-W46; 3 week 2026-W44; 1 week 2026-W36": {Weekly: 9},
		"9 newest, month 2026-11; 2 month 2026-10":                                                    {Monthly: 2},
		"9 newest, within 25h0m0s; 8 within 25h0m0s; 7 within 25h0m0s; 6 within 25h0m0s":              day,
		"9 newest, last 1, day 2026-11-23, month 2026-11":                                             all,
	} {
		shuffled := slices.Clone(files)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		var kept []string
		for _, d := range r.Decide(shuffled) {
			if d.Keep() {
				kept = append(kept, fmt.Sprintf("%d %s", d.Revision, strings.Join(d.Why, ", ")))
			}
		}
		if got := strings.Join(kept, "; "); got != want {
			t.Errorf("%+v:\n%s, want\n%s", r, got, want)
		}
	}
}

// TestTheNewestOfEachClusterStays: also with a clock that was wrong, and if another cluster's are all newer.
func TestTheNewestOfEachClusterStays(t *testing.T) {
	files := []File{
		file("a", "2020-01-01T00:00", 1), file("a", "2020-01-02T00:00", 2),
		file("b", "2099-01-01T00:00", 7), file("b", "2026-01-01T00:00", 9), file("b", "2025-12-31T00:00", 8),
	}
	for _, r := range []Retention{{}, {Last: 1}, {Daily: 1}, {Weekly: 1}, {Monthly: 1}, {Within: time.Nanosecond}} {
		kept := map[uint64]bool{}
		for _, d := range r.Decide(files) {
			kept[d.Revision] = d.Keep()
		}
		if !kept[2] || !kept[9] || kept[1] || kept[8] {
			t.Errorf("%+v: %v", r, kept)
		}
	}
	if d := (Retention{Last: 1}).Decide(nil); len(d) != 0 {
		t.Error(d)
	}
}
