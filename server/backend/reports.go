package backend

import (
	"errors"
	"sync"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// Reports are gathered for people who look. A member gets reportWait to answer, and what was gathered is told for
// reportFresh without asking again, however many look.
const (
	reportWait  = time.Second
	reportFresh = time.Second
	maxReports  = maxMembers // questions of that kind at a time: a node asks each member once at a time
)

// maxMembers is how many members a cluster may have.
const maxMembers = quorum.MaxVoters + ident.MaxNonVoters

// Bounds on what is taken from the answer of another member. What members say is far below.
const (
	maxReportTenures = 64
	maxReportText    = 1 << 10 // bytes
)

// SelfReportsConfig is what a SelfReports is made of. All fields are required.
type SelfReportsConfig struct {
	Self      ballot.NodeID
	Questions *Questions
	Members   *runner.Members
	Status    func() api.Status // of this node
}

// SelfReports gathers what the members say of themselves.
type SelfReports struct {
	cfg  SelfReportsConfig
	asks *kind[struct{}, wire.Report]

	gathering sync.Mutex // held while members are asked, for reportWait at most
	last      api.Reports
	lastAt    time.Time // when last was gathered; zero: never
}

// NewSelfReports returns a SelfReports.
func NewSelfReports(c SelfReportsConfig) *SelfReports {
	r := &SelfReports{cfg: c}
	r.asks = newKind(c.Questions, wire.AskReport, maxReports, "ask again", r.report)
	return r
}

// Reports returns what each member says of itself. A member that does not answer costs reportWait. It is not changed
// any more.
func (r *SelfReports) Reports() api.Reports {
	r.gathering.Lock()
	defer r.gathering.Unlock()
	if r.lastAt.IsZero() || time.Since(r.lastAt) > reportFresh {
		r.last, r.lastAt = r.gather(), time.Now()
	}
	return r.last
}

// gather asks all members at once.
func (r *SelfReports) gather() api.Reports {
	members := r.cfg.Members.Load().All()
	out := api.Reports{Reports: make([]api.Report, len(members))}
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() {
			told, err := r.asks.ask(reportWait, m.Node, struct{}{})
			out.Reports[i] = shownReport(m.Node, &told, err)
		})
	}
	all.Wait()
	return out
}

// report says of this node what its status does.
func (r *SelfReports) report(time.Duration, struct{}) (wire.Report, error) {
	s := r.cfg.Status()
	out := wire.Report{Version: s.Version, Draining: s.Draining, UptimeMS: s.UptimeMS, Disk: wire.DiskUse{
		Log: s.Disk.LogBytes, State: s.Disk.StateBytes, Free: s.Disk.FreeBytes, Quota: s.Disk.QuotaBytes}}
	for _, c := range s.Lease.Changes {
		out.Tenures = append(out.Tenures, wire.Tenure{AtMS: c.Time.UnixMilli(), Event: c.Event, Cause: c.Cause,
			Detail: c.Detail, Before: c.Before, OwnerlessMS: c.OwnerlessMS, HeldMS: c.HeldMS})
	}
	return out, nil
}

// shownReport returns what a node has told as the API has it. Members are trusted, but not with the memory of this
// node.
func shownReport(node ballot.NodeID, told *wire.Report, err error) api.Report {
	out := api.Report{Node: uint64(node), Changes: []api.TenureChange{}}
	if err != nil {
		out.Problem = whyNoReport(err)
		return out
	}
	out.Version, out.Draining, out.UptimeMS = cut(told.Version), told.Draining, told.UptimeMS
	out.Disk = &api.DiskStatus{LogBytes: told.Disk.Log, StateBytes: told.Disk.State, FreeBytes: told.Disk.Free,
		QuotaBytes: told.Disk.Quota}
	for _, t := range told.Tenures[max(0, len(told.Tenures)-maxReportTenures):] {
		out.Changes = append(out.Changes, api.TenureChange{Time: time.UnixMilli(t.AtMS).UTC(), Event: cut(t.Event),
			Cause: cut(t.Cause), Detail: cut(t.Detail), Before: t.Before, OwnerlessMS: t.OwnerlessMS, HeldMS: t.HeldMS})
	}
	return out
}

// whyNoReport says it in words. The error of a question also says whether something was changed; here nothing is.
func whyNoReport(err error) string {
	var not *notTaken
	switch {
	case errors.As(err, &not):
		return not.why
	case errors.Is(err, service.ErrUnknown):
		return "it did not answer in time"
	}
	return err.Error()
}

// cut returns the beginning of a text.
func cut(text string) string { return text[:min(len(text), maxReportText)] }
