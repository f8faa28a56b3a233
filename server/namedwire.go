package server

import (
	"encoding/binary"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
	"tenure/server/replica"
	"tenure/server/transport"
)

// frameNamed is the body of a frame on a connection for named leases: requests and replies of many leases one after the other, each
// of a layout that its kind gives, numbers as varints but where it says otherwise:
//
//	frameNamed | restart, node, nonce of the incarnation that replies are for (zeros: there are none) | messages
//
//	all            kind (1 byte) | name (16) | counter
//	Accept         acquisition (16) | token | D_P in ns | owner (length, text) | the name as people write it (length, text)
//	Release,
//	Withdraw       acquisition (16)
//	Silent         left in ns
//	Promise,
//	…Rejected      flags (1: live, 2: full) | report; of rejections promised; if live
//	               acquisition (16) | token | left in ns | owner (length, text)
const frameNamed byte = 7

// appendNamed appends as many messages of b as fit in a frame, and takes them out of b.
func appendNamed(buf []byte, b *replica.LeaseBatch) []byte {
	buf = append(buf, frameNamed)
	buf = binary.AppendUvarint(buf, b.For.Restart)
	buf = binary.AppendUvarint(buf, uint64(b.For.Node))
	buf = binary.AppendUvarint(buf, b.For.Nonce)
	n := 0
	for ; n < len(b.Requests) && len(buf) < namedFrameFull; n++ {
		buf = appendLeaseRequest(buf, &b.Requests[n])
	}
	b.Requests = b.Requests[n:]
	for n = 0; n < len(b.Replies) && len(buf) < namedFrameFull; n++ {
		buf = appendLeaseReply(buf, &b.Replies[n])
	}
	b.Replies = b.Replies[n:]
	return buf
}

// namedFrameFull leaves room for one more message of any kind.
const namedFrameFull = transport.MaxNamedFrameBytes - 512

func appendLeaseRequest(buf []byte, q *named.Request) []byte {
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

func appendLeaseReply(buf []byte, r *named.Reply) []byte {
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
		flags |= 1
	}
	if r.Full {
		flags |= 2
	}
	buf = append(buf, flags)
	buf = binary.AppendUvarint(buf, uint64(r.Report))
	if r.Kind != named.Promise {
		buf = binary.AppendUvarint(buf, r.Promised)
	}
	if !r.Live {
		return buf
	}
	buf = append(buf, r.LiveAcquisition[:]...)
	buf = binary.AppendUvarint(buf, uint64(r.LiveToken))
	buf = binary.AppendUvarint(buf, uint64(max(0, r.LiveLeft)))
	return appendText(buf, r.LiveOwner)
}

func appendText(buf []byte, s string) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(s)))
	return append(buf, s...)
}

// decodeNamed is the batch in a frame's body. What is well-formed but makes no sense is left to the Checks of package named.
func decodeNamed(body []byte) (*replica.LeaseBatch, error) {
	r := namedReader{b: body[1:]}
	b := new(replica.LeaseBatch)
	b.For = ballot.Incarnation{Restart: r.number(), Node: ballot.NodeID(r.number()), Nonce: r.number()}
	for len(r.b) > 0 && !r.bad {
		switch kind := named.Kind(r.byte()); kind {
		case named.Prepare, named.Accept, named.Release, named.Withdraw:
			b.Requests = append(b.Requests, r.request(kind))
		case named.Promise, named.PrepareRejected, named.Accepted, named.AcceptRejected, named.Released, named.Silent:
			b.Replies = append(b.Replies, r.reply(kind))
		default:
			return nil, fmt.Errorf("%w: a lease message of %v", errFrame, kind)
		}
	}
	if r.bad {
		return nil, fmt.Errorf("%w: a lease message is cut off", errFrame)
	}
	return b, nil
}

// namedReader takes a body apart; bad stays set after the first thing that is not there.
type namedReader struct {
	b   []byte
	bad bool
}

func (r *namedReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, 16)[:min(max(n, 0), 16)]
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *namedReader) byte() byte { return r.take(1)[0] }

func (r *namedReader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *namedReader) text(most uint64) string {
	n := r.number()
	if n > most {
		r.bad, r.b = true, nil
		return ""
	}
	return string(r.take(int(n)))
}

func (r *namedReader) request(kind named.Kind) named.Request {
	q := named.Request{Kind: kind, Name: named.Name(r.take(16)), Counter: r.number()}
	if kind == named.Prepare {
		return q
	}
	q.Acquisition = named.Acquisition(r.take(16))
	if kind == named.Accept {
		q.Token, q.Duration, q.Owner = named.Token(r.number()), time.Duration(r.number()), r.text(named.MaxOwnerBytes)
		q.Text = r.text(named.MaxTextBytes)
	}
	return q
}

func (r *namedReader) reply(kind named.Kind) named.Reply {
	out := named.Reply{Kind: kind, Name: named.Name(r.take(16)), Counter: r.number()}
	if kind == named.Accepted || kind == named.Released {
		return out
	}
	if kind == named.Silent {
		out.Left = time.Duration(r.number())
		return out
	}
	flags := r.byte()
	out.Live, out.Full = flags&1 != 0, flags&2 != 0
	out.Report = named.Token(r.number())
	if kind != named.Promise {
		out.Promised = r.number()
	}
	if out.Live {
		out.LiveAcquisition = named.Acquisition(r.take(16))
		out.LiveToken, out.LiveLeft, out.LiveOwner = named.Token(r.number()), time.Duration(r.number()), r.text(named.MaxOwnerBytes)
	}
	return out
}
