package wire

import (
	"encoding/binary"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
	"tenure/server/replica/leases"
)

// The body of a leases.Batch, on a connection of named leases, holds requests and replies of many leases, one
// after the other. Numbers are varints unless a size is given, a text is its length and its bytes, and an incarnation
// is Restart, Node, Nonce:
//
//	type (1 byte) | incarnation that the replies are for (zeros: there are none) | messages
//
// Among the messages, a stamp is the number of the membership of the requests after it: a byte, 255, and the number.
// The first membership has no stamp, since older versions know no other: requests before any stamp are of the first
// membership.
//
// Each message has a layout of its kind, the fields in this order:
//
//	all                            kind (1 byte), name (16 bytes), counter
//	Prepare, Accepted, Released    nothing more
//	Accept                         acquisition (16 bytes), token, D_P in ns, owner (text), readable name (text)
//	Release, Withdraw              acquisition (16 bytes)
//	Silent                         left in ns
//	Promise                        flags (1 byte), report, live lease
//	PrepareRejected,
//	AcceptRejected                 flags (1 byte), report, promised, live lease, membership
//
//	flags                          1: there is a live lease, 2: the acceptor is full, 4: there is a membership
//	live lease, if there is one    acquisition (16 bytes), token, left in ns, owner (text)
//	membership, if there is one    number

const (
	flagLive       = 1
	flagFull       = 2
	flagMembership = 4
	// stampMark stands where a message would have its kind.
	stampMark = 255
)

// namedFull is where a body takes no more messages: it leaves space for one of any kind.
const namedFull = MaxNamedBytes - 512

// EncodeNamed is AppendNamed into new memory.
func EncodeNamed(b *leases.Batch) []byte {
	return AppendNamed(make([]byte, 0, min(32+64*len(b.Requests)+48*len(b.Replies), namedFull)), b)
}

// AppendNamed appends a body with as many messages of b as fit to buf, and takes them out of b. A whole batch takes one
// call for each body, until b holds no more messages.
func AppendNamed(buf []byte, b *leases.Batch) []byte {
	start := len(buf)
	buf = append(buf, typeNamed)
	buf = binary.AppendUvarint(buf, b.For.Restart)
	buf = binary.AppendUvarint(buf, uint64(b.For.Node))
	buf = binary.AppendUvarint(buf, b.For.Nonce)
	n, stamp := 0, uint64(1)
	for ; n < len(b.Requests) && len(buf)-start < namedFull; n++ {
		if s := max(1, b.Requests[n].Membership); stamped(b.Requests[n].Kind) && s != stamp {
			buf, stamp = binary.AppendUvarint(append(buf, stampMark), s), s
		}
		buf = appendRequest(buf, &b.Requests[n])
	}
	b.Requests = b.Requests[n:]
	for n = 0; n < len(b.Replies) && len(buf)-start < namedFull; n++ {
		buf = appendReply(buf, &b.Replies[n])
	}
	b.Replies = b.Replies[n:]
	return buf
}

func stamped(k named.Kind) bool { return k == named.Prepare || k == named.Accept }

func appendRequest(buf []byte, q *named.Request) []byte {
	buf = append(buf, byte(q.Kind))
	buf = append(buf, q.Name[:]...)
	buf = binary.AppendUvarint(buf, q.Counter)
	if q.Kind == named.Prepare {
		return buf
	}
	buf = append(buf, q.Acquisition[:]...)
	if q.Kind != named.Accept {
		return buf
	}
	buf = binary.AppendUvarint(buf, uint64(q.Token))
	buf = binary.AppendUvarint(buf, uint64(q.Duration))
	return appendText(appendText(buf, q.Owner), q.Text)
}

func appendReply(buf []byte, r *named.Reply) []byte {
	buf = append(buf, byte(r.Kind))
	buf = append(buf, r.Name[:]...)
	buf = binary.AppendUvarint(buf, r.Counter)
	if r.Kind == named.Accepted || r.Kind == named.Released {
		return buf
	}
	if r.Kind == named.Silent {
		return binary.AppendUvarint(buf, uint64(max(0, r.Left)))
	}
	var flags byte
	if r.Live {
		flags |= flagLive
	}
	if r.Full {
		flags |= flagFull
	}
	if r.Membership > 1 {
		flags |= flagMembership
	}
	buf = append(buf, flags)
	buf = binary.AppendUvarint(buf, uint64(r.Report))
	if r.Kind != named.Promise {
		buf = binary.AppendUvarint(buf, r.Promised)
	}
	if r.Live {
		buf = append(buf, r.LiveAcquisition[:]...)
		buf = binary.AppendUvarint(buf, uint64(r.LiveToken))
		buf = binary.AppendUvarint(buf, uint64(max(0, r.LiveLeft)))
		buf = appendText(buf, r.LiveOwner)
	}
	if r.Membership > 1 {
		buf = binary.AppendUvarint(buf, r.Membership)
	}
	return buf
}

func appendText(buf []byte, s string) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(s)))
	return append(buf, s...)
}

// DecodeNamed decodes a body from a connection for named leases. The error wraps ErrMalformed or ErrUnknownType. The
// connection knows for whom the batch is: To is zero.
func DecodeNamed(body []byte) (*leases.Batch, error) {
	if len(body) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	if body[0] != typeNamed {
		return nil, fmt.Errorf("%w: %d", ErrUnknownType, body[0])
	}
	r := namedReader{b: body[1:]}
	b := new(leases.Batch)
	b.For = ballot.Incarnation{Restart: r.number(), Node: ballot.NodeID(r.number()), Nonce: r.number()}
	stamp := uint64(0)
	for len(r.b) > 0 && !r.bad {
		switch kind := named.Kind(r.byte()); kind {
		case named.Prepare, named.Accept, named.Release, named.Withdraw:
			q := r.request(kind)
			if stamped(kind) {
				q.Membership = membership(stamp, true)
			}
			b.Requests = append(b.Requests, q)
		case named.Promise, named.PrepareRejected, named.Accepted, named.AcceptRejected, named.Released, named.Silent:
			b.Replies = append(b.Replies, r.reply(kind))
		case stampMark:
			stamp = r.number()
		default:
			return nil, fmt.Errorf("%w: a lease message of %v", ErrMalformed, kind)
		}
	}
	if r.bad {
		return nil, fmt.Errorf("%w: a lease message is cut off", ErrMalformed)
	}
	return b, nil
}

// namedReader reads a body piece by piece. After the first missing piece bad is set, and returned values have no
// meaning.
type namedReader struct {
	b   []byte
	bad bool
}

func (r *namedReader) fail() { r.bad, r.b = true, nil }

// next returns the next n bytes, n up to 16, or zeros if they are not there.
func (r *namedReader) next(n int) []byte {
	if n > len(r.b) {
		r.fail()
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *namedReader) byte() byte { return r.next(1)[0] }

func (r *namedReader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// text returns a text of at most limit bytes.
func (r *namedReader) text(limit int) string {
	n := r.number()
	if n > uint64(limit) || n > uint64(len(r.b)) {
		r.fail()
		return ""
	}
	return string(r.next(int(n)))
}

func (r *namedReader) request(kind named.Kind) named.Request {
	q := named.Request{Kind: kind, Name: named.Name(r.next(16)), Counter: r.number()}
	if kind == named.Prepare {
		return q
	}
	q.Acquisition = named.Acquisition(r.next(16))
	if kind == named.Accept {
		q.Token, q.Duration = named.Token(r.number()), time.Duration(r.number())
		q.Owner, q.Text = r.text(named.MaxOwnerBytes), r.text(named.MaxTextBytes)
	}
	return q
}

func (r *namedReader) reply(kind named.Kind) named.Reply {
	out := named.Reply{Kind: kind, Name: named.Name(r.next(16)), Counter: r.number()}
	if kind == named.Accepted || kind == named.Released {
		return out
	}
	if kind == named.Silent {
		out.Left = time.Duration(r.number())
		return out
	}
	flags := r.byte()
	out.Live, out.Full = flags&flagLive != 0, flags&flagFull != 0
	out.Report = named.Token(r.number())
	if kind != named.Promise {
		out.Promised = r.number()
	}
	if out.Live {
		out.LiveAcquisition = named.Acquisition(r.next(16))
		out.LiveToken, out.LiveLeft = named.Token(r.number()), time.Duration(r.number())
		out.LiveOwner = r.text(named.MaxOwnerBytes)
	}
	if flags&flagMembership != 0 {
		out.Membership = r.number()
	}
	out.Membership = membership(out.Membership, kind != named.Promise)
	return out
}
