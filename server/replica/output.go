package replica

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica/elector"
)

// Output is what there is to do after a step; LogRound hands it out piece by piece.
type Output struct {
	Persists   []multipaxos.Persist
	Log        []multipaxos.Message
	Messages   []Message
	Replies    []Reply
	Checkpoint *kv.Frozen // hand to storage; report with Event.Checkpointed
	// Ready is to be published: the tenure for which the log is ready (0: none), and its epoch.
	Ready, Epoch uint64
	// Level is the feature level that a node must know to be connected to this one. It may fall, to no less than is
	// applied. effect.Level, before the messages.
	Level uint64
	// Apply reports that chosen entries wait to be applied.
	Apply bool
	// Health goes to all other voters on their lease connections; nil: no report.
	Health *Health
	// LetGo, if it has a tenure, tells the elector to release that tenure (P6): this part has stopped acting for it.
	LetGo elector.LetGo
	// Members, if not nil, is a membership that was chosen and applied: effect.Members.
	Members *ident.Membership
	// Dismiss, if not 0, is the number of a membership that a majority of its voters has durable: effect.Dismiss.
	Dismiss uint64
	// Proposed are the batches that went into slots since the last output. For metrics only.
	Proposed []Proposal
}

// Proposal is a batch of writes that was put into a slot.
type Proposal struct {
	Slot          multipaxos.Slot
	Writes, Bytes int
	Waited        time.Duration // the longest of its writes, in the queue
}

// outbox gathers what a step hands out, in order. The components of the log part put their effects into it.
type outbox struct {
	self     ballot.NodeID
	maxBytes int // of the bodies of the answers in one message
	out      Output
	open     []openAnswers // of out.Messages
}

// openAnswers is the message that gathers the answers for one node.
type openAnswers struct {
	to      ballot.NodeID
	message int // its place in the output
	bytes   int // of its bodies
}

// drain drains the outbox.
func (o *outbox) drain() Output {
	out := o.out
	o.out, o.open = Output{}, o.open[:0]
	return out
}

func (o *outbox) send(m Message) {
	m.From = o.self
	o.out.Messages = append(o.out.Messages, m)
}

func (o *outbox) reply(r Reply) { o.out.Replies = append(o.out.Replies, r) }

// answer gives w its one answer: to the client here, or to the node that forwarded it. A write that is not
// awaited gets none.
func (o *outbox) answer(w write, outcome Outcome, why Reason, r kv.Result) {
	if !w.awaited() {
		return
	}
	if w.doubt && outcome == Refused {
		outcome = Unknown
	}
	if w.from == 0 {
		o.reply(Reply{ID: w.ID, Outcome: outcome, Reason: why, Result: r, Slot: w.slot, Sole: !w.doubt})
		return
	}
	o.answerNode(w.from, ForwardedAnswer{ID: w.ID, Outcome: outcome, Reason: why, Result: r})
}

// answerNode gathers the answers for one node into as few messages per round as their number and their bodies allow.
func (o *outbox) answerNode(node ballot.NodeID, a ForwardedAnswer) {
	size := len(a.Result.Body)
	i := slices.IndexFunc(o.open, func(open openAnswers) bool { return open.to == node })
	if i >= 0 {
		open := &o.open[i]
		m := &o.out.Messages[open.message]
		if len(m.Answers) < maxAnswers && (open.bytes == 0 || open.bytes+size <= o.maxBytes) {
			m.Answers = append(m.Answers, a)
			open.bytes += size
			return
		}
		o.open = slices.Delete(o.open, i, i+1)
	}
	o.open = append(o.open, openAnswers{to: node, message: len(o.out.Messages), bytes: size})
	o.send(Message{Kind: KindForwarded, To: node, Answers: []ForwardedAnswer{a}})
}

const maxAnswers = 4096 // in one message
