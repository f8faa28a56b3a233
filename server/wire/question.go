package wire

import (
	"fmt"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/server/members"
)

// QuestionKind is what a node asks of another one. The numbers are on the wire: they are never reused.
type QuestionKind uint8

// The kinds, with the type of the body of a question, and that of its answer. Bodies without a type are a struct{}.
const (
	AskTransfer   QuestionKind = 1 // Transfer: the master hands over
	AskRaise      QuestionKind = 2 // the master raises the feature level to the newest that all members know
	AskMembers    QuestionKind = 3 // members.Request: the master changes the members; MembersAnswer
	AskDrain      QuestionKind = 4 // Drain: the node that is asked is drained, or takes clients again
	AskDrainState QuestionKind = 5 // how far the drain of that node is; DrainTold
	AskReport     QuestionKind = 6 // what that node says of itself, for people; Report
	AskUses       QuestionKind = 7 // Uses: when that node last allowed tokens something; UsesTold
)

// Question asks another node to do something, or to tell something.
type Question struct {
	ID   uint64 // drawn by the asking node
	Kind QuestionKind
	Wait time.Duration // how long the asking node still waits, when it was sent
	Body []byte        // by EncodeBody
}

// Answer answers the question with its ID.
type Answer struct {
	ID      uint64
	Outcome Outcome
	// Master is of NotTaken: ask that node instead. 0: none is known.
	Master ballot.NodeID
	// Code and Text say why a question was refused or not taken. Without a code it may be asked again.
	Code api.Code
	Text string
	Body []byte // of Done, by EncodeBody
}

// Outcome is what became of a question. A receiver takes a number that it does not know for Unknown.
type Outcome uint8

// The outcomes. A question that is Refused or NotTaken has changed nothing, and will not.
const (
	Done     Outcome = 1
	Refused  Outcome = 2
	NotTaken Outcome = 3 // the node is not the master, or has too much to do
	Unknown  Outcome = 4 // what was asked may have been done, or may yet be
)

// Transfer is whom the master hands over to.
type Transfer struct {
	To ballot.NodeID // 0: any voter
}

// MembersAnswer is what a change has led to.
type MembersAnswer struct {
	Record []byte       // a members.Record, after the change
	Plan   members.Plan // of a dry run
}

// Drain has a node take no new clients and no mastership, or take them again.
type Drain struct {
	Off   bool
	Force bool // though too few voters are left
}

// DrainTold is how far the drain of a node is.
type DrainTold struct {
	State DrainState
}

// DrainState is whether a node is drained.
type DrainState uint8

// The states of a drain.
const (
	DrainOff   DrainState = 0
	DrainBegun DrainState = 1 // the node looks whether enough voters are left, and may take the drain back
	DrainOn    DrainState = 2
)

// Report is what a node says of itself, for people.
type Report struct {
	Version  string
	Draining bool
	UptimeMS int64
	Disk     DiskUse
	Tenures  []Tenure // the last of its own in its current run, oldest first
}

// DiskUse is the use of the disk of a node's data directory, in bytes.
type DiskUse struct {
	Log, State, Free, Quota int64
}

// Tenure is the beginning or the end of a tenure of the master lease: an api.TenureChange.
type Tenure struct {
	AtMS        int64 // since 1970, by the clock of that node
	Event       string
	Cause       string
	Detail      string
	Before      uint64
	OwnerlessMS int64
	HeldMS      int64
}

// Uses names tokens by their accessors.
type Uses struct {
	Accessors []string
}

// UsesTold is when each of them was last used, since 1970 by the clock of the node that is asked; 0: not since that
// node started.
type UsesTold struct {
	AtMS []int64
}

// The largest bodies of frames with questions and answers. The largest answer has a record of the members.
const (
	MaxQuestionBytes = 16 << 10
	MaxAnswerBytes   = 512 << 10
)

// EncodeQuestion returns the body of q.
func EncodeQuestion(q *Question) []byte { return encode(nil, typeQuestion, q) }

// EncodeAnswer returns the body of a.
func EncodeAnswer(a *Answer) []byte { return encode(nil, typeAnswered, a) }

// EncodeBody returns the body of a question or an answer. v points to the struct that belongs to the kind.
func EncodeBody(v any) []byte { return codec.Marshal(v) }

// DecodeBody decodes the body of a question or an answer into v, a pointer to the struct that belongs to the kind. The
// error wraps ErrMalformed.
func DecodeBody(body []byte, v any) error {
	if err := codec.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// decodeWithin is decode for a body of at most most bytes.
func decodeWithin(most int, body []byte, v any) error {
	if len(body) > most {
		return fmt.Errorf("%w: %d bytes of type %d", ErrMalformed, len(body), body[0])
	}
	return decode(body, v)
}
