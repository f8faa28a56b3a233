package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/server/replica/elector"
)

// ProgressConfig holds the bounds of M6.
type ProgressConfig struct {
	// Bound is how long a holder of the master lease may be unready, or stuck, before it lets go. Half of it is how
	// recent a finished sync must be for a node to be able, a quarter how long the health of another node counts.
	Bound time.Duration
	// StandBack is how long a node that let go stands back the first time; it doubles up to MaxStandBack.
	StandBack, MaxStandBack time.Duration
}

// ProgressFor returns the bounds for a lease time of the master lease.
func ProgressFor(leaseTime time.Duration) ProgressConfig {
	return ProgressConfig{Bound: elector.BoundFor(leaseTime), StandBack: 2 * time.Second, MaxStandBack: time.Minute}
}

// longest is how many bounds a count may last in all, whatever is acknowledged meanwhile.
const longest = 10

// Health is what a node says of itself on its lease connections, every healthTicks and when it changes. It does not
// travel with the heartbeats, because the log connection may be what has stopped.
type Health struct {
	Able   bool // it could serve as master now
	Fit    bool // the same, but that its disk may be short of space: it could serve what frees space
	GetsOn bool // it is the ready master, and nothing waits at it in vain
}

// reading is what the log part shows of itself once a tick.
type reading struct {
	tenure        uint64 // of the lease that this node leads for; 0: none
	ready         bool
	stopping      bool   // it is handing over or leaving
	writes        bool   // something is to be proposed or chosen, or could not be
	reads         bool   // consistent reads wait for their round
	chosen        uint64 // slots up to this one are chosen
	confirmed     uint64 // the newest round of consistent reads that a quorum has confirmed
	pieces        uint64 // rises when another voter acknowledges a piece
	checkpointing bool   // proposing waits for the node's own checkpoint
	space         Space  // of the own disk
	behind        bool   // another node has truncated what this one lacks
}

// progress is the policy of M6. It decides whether this node gets on as master, and whether it is able to be master. It
// also decides when the node lets go of the lease, and when it may try. No safety rests on it.
type progress struct {
	cfg    ProgressConfig
	disk   diskWatch
	count  stall
	back   standBack
	others []voterHealth
	own    Health
	told   Health        // as last sent
	probed time.Duration // when the newest probe was asked for
	hungAs uint64        // the newest tenure that the elector let go of because the log hung; 0: none
}

// voterHealth is what another node last said of itself.
type voterHealth struct {
	node   ballot.NodeID
	health Health
	at     time.Duration
}

func newProgress(cfg ProgressConfig, self ballot.NodeID, voters quorum.Set) progress {
	g := progress{cfg: cfg}
	g.follow(self, voters)
	return g
}

// follow goes over to other voters, and keeps the reports of those that stay.
func (g *progress) follow(self ballot.NodeID, voters quorum.Set) {
	var others []voterHealth
	for _, id := range voters.IDs() {
		if id == self {
			continue
		}
		v := voterHealth{node: id}
		for _, was := range g.others {
			if was.node == id {
				v = was
			}
		}
		others = append(others, v)
	}
	g.others = others
}

// hear takes another voter's health.
func (g *progress) hear(at time.Duration, from ballot.NodeID, h Health) {
	for i := range g.others {
		if g.others[i].node == from {
			g.others[i].health, g.others[i].at = h, at
		}
	}
}

// hears reports whether the newest health of another voter says so, and is recent.
func (g *progress) hears(now time.Duration, says func(Health) bool) bool {
	for i := range g.others {
		if v := &g.others[i]; v.at > 0 && now-v.at < g.cfg.Bound/4 && says(v.health) {
			return true
		}
	}
	return false
}

func able(h Health) bool   { return h.Able }
func fit(h Health) bool    { return h.Able || h.Fit }
func getsOn(h Health) bool { return h.GetsOn }

// step passes time. It returns what to let go of, with Tenure 0 if nothing.
func (g *progress) step(now time.Duration, r reading) elector.LetGo {
	r.checkpointing = r.checkpointing && g.answers(now) // a checkpoint on a disk that has stopped is no progress
	reason := g.count.step(now, r, g.cfg.Bound/8)
	if r.ready {
		g.back.served()
	}
	g.own.GetsOn = r.ready && !r.stopping && g.count.lasts(now) < g.cfg.Bound/4
	g.own.Fit = g.fit(now, r)
	g.own.Able = g.own.Fit && r.space == SpaceEnough
	over := g.count.over(now, g.cfg.Bound)
	if reason == elector.ReasonUnready && r.behind { // a snapshot takes longer than an election, however large the bound
		reason, over = elector.ReasonBehind, true
	}
	if reason == "" || r.stopping || !over || !g.hears(now, fit) {
		return elector.LetGo{}
	}
	out := elector.LetGo{Tenure: r.tenure, Reason: reason, For: now - g.count.began}
	g.count = stall{}
	g.back.begin(now, g.cfg)
	g.own = Health{}
	return out
}

// fit reports whether this node could serve as master if it had space (M6). Its last sync began within half the bound
// and returned, it has heard of no truncation beyond its log, and it does not stand back. With space it is able. A
// master that is only fit serves reads, and writes that free space. That is better than a holder that gets nowhere, or
// whose disk does not answer.
func (g *progress) fit(now time.Duration, r reading) bool {
	return !r.stopping && g.answers(now) && r.space != SpaceNone && !r.behind && !g.back.stands(now)
}

// answers reports whether the own disk's last sync began within half the bound and returned.
func (g *progress) answers(now time.Duration) bool {
	return g.disk.returned && now-g.disk.last < g.cfg.Bound/2
}

// durable is told that all Persists up to seq are durable.
func (g *progress) durable(seq uint64) {
	if g.disk.end(seq) {
		g.back.synced()
	}
}

// wantsProbe reports whether to sync a probe now, so that able is never a guess (M6). A probe needs two conditions: no
// sync is out, and none was begun for a quarter of the bound. It also needs a reason: the node hears no master that
// gets on, no sync has returned in this run, or the node stands back until a sync returns.
func (g *progress) wantsProbe(now time.Duration) bool {
	if g.disk.waits() || now-max(g.disk.last, g.probed) < g.cfg.Bound/4 {
		return false
	}
	quiet := !g.own.GetsOn && !g.hears(now, getsOn)
	if quiet || !g.disk.returned || g.back.unsynced {
		g.probed = now
		return true
	}
	return false
}

// barred reports whether this node must not try for the lease: it is not able and hears an able voter (M6), or it is
// not even fit and hears a fit one. If it hears neither it may try at once, also while it stands back.
func (g *progress) barred(now time.Duration) bool {
	return !g.own.Able && g.hears(now, able) || !g.own.Fit && g.hears(now, fit)
}

// diskWatch follows what the own disk finishes. One Persist at a time is watched, from when it is handed out.
type diskWatch struct {
	seq      uint64        // of the one that is watched; 0: none
	began    time.Duration // when that was handed out
	last     time.Duration // when the newest one that is durable was handed out
	returned bool          // there is such a one in this run
}

func (p *diskWatch) waits() bool { return p.seq != 0 }

// begin is told that Persist seq was handed out.
func (p *diskWatch) begin(now time.Duration, seq uint64) {
	if p.seq == 0 {
		p.seq, p.began = seq, now
	}
}

// end is told that all Persists up to seq are durable, and reports whether the watched one is among them.
func (p *diskWatch) end(seq uint64) bool {
	if p.seq == 0 || seq < p.seq {
		return false
	}
	p.last, p.returned, p.seq = p.began, true, 0
	return true
}

// unanswered returns for how long the disk has not answered.
func (p *diskWatch) unanswered(now time.Duration) time.Duration {
	if p.seq == 0 {
		return 0
	}
	return max(0, now-p.began)
}

// stall counts for how long a holder has got nowhere. The count of being unready goes through all log ballots of a
// tenure (M6).
type stall struct {
	tenure uint64
	reason string        // what is counted; "": nothing
	began  time.Duration // when the count began
	since  time.Duration // when it was last started again by a piece
	waited time.Duration // when something was last seen to wait
	wrote  time.Duration // when a write was
	last   reading
}

// step follows the reading, and returns what is being counted. Being stuck ends only when nothing has waited for grace:
// clients give up and come again. That reads get on does not help writes that wait.
func (p *stall) step(now time.Duration, r reading, grace time.Duration) string {
	if r.writes {
		p.wrote = now
	}
	if r.writes || r.reads {
		p.waited = now
	}
	reason := ""
	switch {
	case r.tenure == 0:
	case !r.ready:
		reason = elector.ReasonUnready
	case p.waited == now, p.reason == elector.ReasonStuck && now-p.waited < grace:
		reason = elector.ReasonStuck
	}
	moved := r.chosen != p.last.chosen || (now-p.wrote >= grace && r.confirmed != p.last.confirmed)
	if reason == "" || reason != p.reason || r.tenure != p.tenure || (reason == elector.ReasonStuck && moved) {
		p.began, p.since = now, now
	} else if r.pieces != p.last.pieces || r.checkpointing {
		p.since = now
	}
	p.reason, p.tenure, p.last = reason, r.tenure, r
	return reason
}

// lasts returns for how long the count has run in all.
func (p *stall) lasts(now time.Duration) time.Duration {
	if p.reason == "" {
		return 0
	}
	return now - p.began
}

// over reports whether the holder has got nowhere for a bound, or for ten of them with a piece now and then.
func (p *stall) over(now, bound time.Duration) bool {
	return p.reason != "" && (now-p.since >= bound || now-p.began >= longest*bound)
}

// standBack bars attempts after the node has let go (M6): until the own disk has finished a sync, and for a length of
// time. The length doubles each time the node lets go again without having been ready in between.
type standBack struct {
	until    time.Duration
	length   time.Duration // of the newest; 0: the node has been ready since
	unsynced bool          // the own disk has finished no sync since
}

func (b *standBack) begin(now time.Duration, cfg ProgressConfig) {
	b.length = min(max(2*b.length, cfg.StandBack), cfg.MaxStandBack)
	b.until, b.unsynced = now+b.length, true
}

// hung is told the tenure that the elector let go of last because the log hung. The node stands back for each once.
func (g *progress) hung(now time.Duration, tenure uint64) {
	if tenure == g.hungAs {
		return
	}
	g.hungAs = tenure
	g.back.begin(now, g.cfg)
}

// served is told that the node is ready.
func (b *standBack) served() { b.length = 0 }

// synced is told that the own disk has finished a sync.
func (b *standBack) synced() { b.unsynced = false }

func (b *standBack) stands(now time.Duration) bool { return b.unsynced || now < b.until }

// left returns how long the node stands back yet, at least a millisecond while it waits for its disk.
func (b *standBack) left(now time.Duration) time.Duration {
	if b.unsynced {
		return max(b.until-now, time.Millisecond)
	}
	return max(0, b.until-now)
}
