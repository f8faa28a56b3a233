package elector

import "time"

// pace chooses how long a lease each attempt asks for. The sooner a lease ends after its owner has stopped to answer,
// the sooner another node takes over. While renewals are quick, three fifths of the lease time do: the owner asks more
// often. A renewal that is not quick shows a machine short of processors, or a slow network, on which the next pause
// may be longer than a short lease. From then on the owner has the whole lease time again, for some seconds, or for
// some minutes if the renewal was slow or failed. It is policy: each attempt may ask for any time up to M (P1), and
// nothing but liveness depends on which.
type pace struct {
	due     time.Duration // when the renewal under way should have started
	renewal bool          // the attempt under way is one
	owns    bool          // the last attempt was won, and the lease not released since
	quick   int           // renewals in a row that were quick; below 0: those that must be before they count
}

const (
	briefFifths   = 3   // of the lease time, while renewals are quick
	quickPart     = 50  // of the lease time, in which a renewal is won since it was due, if it is quick
	slowPart      = 10  // likewise; if it takes longer, it is slow
	quickRenewals = 32  // in a row make leases short
	afterSlow     = 600 // besides, after one that was slow or failed
)

// duration returns D_P of the next attempt, of the lease time whole. renewal says whether a lease is held that it
// renews, and due when it was time to. A fresh attempt of an owner comes after one that was not renewed in time.
func (p *pace) duration(whole time.Duration, renewal bool, due time.Duration) time.Duration {
	p.due, p.renewal = due, renewal
	switch {
	case renewal:
	case p.owns:
		p.slow()
	default:
		p.quick = min(p.quick, 0)
	}
	p.owns = false
	if p.quick < quickRenewals {
		return whole
	}
	return whole / 5 * briefFifths
}

// ended takes how the attempt ended at now.
func (p *pace) ended(now, whole time.Duration, won bool) {
	p.owns = won
	switch took := now - p.due; {
	case !p.renewal:
	case !won || took > whole/slowPart:
		p.slow()
	case took > whole/quickPart:
		p.quick = min(p.quick, 0)
	default:
		p.quick++
	}
}

func (p *pace) slow() { p.quick = -afterSlow }

// released takes that the lease was given up.
func (p *pace) released() { p.owns = false }
