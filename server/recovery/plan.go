package recovery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/utf8text"
	"tenure/server/recovery/merge"
)

// planFormat is the version of a plan's JSON.
const planFormat = 1

// Plan describes a recovery, as JSON. It names the directories and their contents, so that Apply notices a changed
// directory.
type Plan struct {
	Format    int        `json:"format"`
	Cluster   string     `json:"cluster"`
	Survivors []Survivor `json:"survivors"`
	// Voters are the voters of the newest membership known to a survivor. Gone are the voters without a directory.
	Voters    []ballot.NodeID `json:"voters"`
	Gone      []ballot.NodeID `json:"gone"`
	Continues string          `json:"continues"` // the directory whose state database is the newest
	// Chosen: every slot through it is known to be chosen. Last: the last one of which a survivor has anything.
	Chosen uint64 `json:"chosen"`
	Last   uint64 `json:"last"`
	// Uncertain counts the slots up to Last in which the nodes that are gone may have chosen another value than the new
	// cluster will have. In Empty of these slots the new cluster will have no value.
	Uncertain uint64 `json:"uncertain"`
	Empty     uint64 `json:"empty"`
	// Touched is what the survivors' versions of the uncertain slots write; MoreWrites counts those that are left out.
	Touched    []Touched `json:"touched"`
	MoreWrites uint64    `json:"more_writes"`
	// Complete: nothing that was ever acknowledged is lost. If not, slots above Last may be lost too, and their writes
	// are unknown.
	Complete bool `json:"complete"`
	// Confirm is what must be said to apply the plan.
	Confirm string `json:"confirm"`
}

// Survivor is one directory.
type Survivor struct {
	Dir      string        `json:"dir"`
	Node     ballot.NodeID `json:"node"`
	Store    string        `json:"store"`
	Restart  uint64        `json:"restart"`
	State    uint64        `json:"state"`    // slot of the state database
	Revision uint64        `json:"revision"` // of it
	Chosen   uint64        `json:"chosen"`   // through it the node knew slots to be chosen
	Last     uint64        `json:"last"`     // the end of its log
}

// Make returns the plan for these directories. It changes none of them.
func Make(dirs []string) (Plan, error) {
	all, err := openSurvivors(dirs)
	if err != nil {
		return Plan{}, err
	}
	defer all.close()
	return all.plan()
}

func (all survivors) plan() (Plan, error) {
	t := newTouched()
	out, err := merge.Merge(all.config(), func(s merge.Slot) error {
		if s.Certain {
			return nil
		}
		return t.note(s)
	})
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Format: planFormat, Cluster: all[0].identity.Cluster.String(), Voters: out.Voters.IDs(),
		Continues: all[out.Base].dir, Chosen: uint64(out.Chosen), Last: uint64(out.Last),
		Uncertain: out.Uncertain, Empty: out.Empty, Touched: t.list(), MoreWrites: t.more, Complete: out.Complete,
	}
	for _, s := range all {
		p.Survivors = append(p.Survivors, s.describe())
	}
	for _, id := range p.Voters {
		if !slices.ContainsFunc(all, func(s *survivor) bool { return s.identity.Node == id }) {
			p.Gone = append(p.Gone, id)
		}
	}
	p.Confirm = p.confirmation()
	return p, nil
}

// confirmation names what may be lost. A plan that was edited may name no cluster.
func (p *Plan) confirmation() string {
	cluster := p.Cluster[:min(len(p.Cluster), 8)]
	if p.Complete {
		return "nothing-of-" + cluster
	}
	return fmt.Sprintf("slots-above-%d-of-%s", p.Chosen, cluster)
}

func (s *survivor) describe() Survivor {
	d := s.store.Durable()
	return Survivor{Dir: s.dir, Node: s.identity.Node, Store: s.identity.Store.String(), State: s.state,
		Restart: s.store.StartRecord().Restart, Revision: s.revision, Chosen: uint64(d.Chosen), Last: uint64(d.Last)}
}

// Write writes p as JSON.
func (p Plan) Write(w io.Writer) error { return writeJSON(w, p) }

// maxPlanBytes bounds what ReadPlan reads: more than maxTouched names of the longest keys take, as JSON escapes them.
const maxPlanBytes = 16 << 20

// ReadPlan reads what Write has written.
func ReadPlan(r io.Reader) (Plan, error) {
	var p Plan
	text, err := io.ReadAll(io.LimitReader(r, maxPlanBytes))
	if err == nil {
		text, err = utf8text.Of(text)
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&p)
	}
	if err != nil {
		return p, refuse("this is no plan of kvnode recover plan: %w", err)
	}
	if p.Format != planFormat || len(p.Survivors) == 0 {
		return p, refuse("this is no plan that this version can apply (format %d); make a new one with kvnode recover plan",
			p.Format)
	}
	return p, nil
}
