package elector

import "time"

// pace chooses how long a lease each attempt asks for. The sooner a lease ends after its owner has stopped to answer,
// the sooner another node takes over. While renewals are quick, three fifths of the lease time do: the owner asks more
// often. A renewal that is not quick shows a machine short of processors, or a slow network. From then on the owner has
// the whole lease time again, until renewals have been quick for a while. It is policy: each attempt may ask for any
// time up to M (P1), and nothing but liveness depends on which.
type pace struct {
	due   time.Duration // when the renewal under way should have started
	quick int           // renewals in a row that were quick
}

const (
	briefFifths   = 3  // of the lease time, while renewals are quick
	quickPart     = 50 // of the lease time, in which a renewal is won since it was due, if it is quick
	quickRenewals = 32 // in a row
)

// duration returns D_P of the next attempt, of the lease time whole. renewal says whether a lease is held that it
// renews: a fresh attempt has nothing to go by.
func (p *pace) duration(whole time.Duration, renewal bool, due time.Duration) time.Duration {
	p.due = due
	if !renewal {
		p.quick = 0
	}
	if p.quick < quickRenewals {
		return whole
	}
	return whole / 5 * briefFifths
}

// ended takes how the attempt ended at now.
func (p *pace) ended(now, whole time.Duration, won bool) {
	if won && now-p.due <= whole/quickPart {
		p.quick++
	} else {
		p.quick = 0
	}
}
