package members

import "fmt"

// Reason is why an operation is refused, for programs.
type Reason uint8

// The reasons.
const (
	Invalid    Reason = iota + 1 // the request is wrong in itself
	Unknown                      // no such member, or no such operation
	AlreadyIs                    // it is what the operation would make it
	Busy                         // another operation is under way
	IDReused                     // the id was used for another operation
	NameTaken                    // another member has that name or address
	TooMany                      // more voters, or non-voters, than there may be
	LastVoter                    // a cluster has at least one
	NoMajority                   // what is left would have no majority alive
	Heard                        // the voter to be replaced is heard
	TooLate                      // it cannot be taken back any more
	Outdated                     // a member runs an older version
	Disputed                     // replicas differ, and it is not said which is wrong
	WasRemoved                   // a node comes with the certificate of a member that was removed
	Level                        // it needs a higher feature level
)

// Refusal is why an operation is not begun, or not taken back. Nothing was changed. It is an error, and its text tells
// people what to do.
type Refusal struct {
	Reason Reason
	Text   string
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

func refuse(why Reason, format string, args ...any) error {
	return &Refusal{Reason: why, Text: fmt.Sprintf(format, args...)}
}
