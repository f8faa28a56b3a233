package transport

import (
	"fmt"

	"tenure/server/wire"
)

// Refusal is why a connection was refused, by either side. Its text is written so that it reads the same on both:
// it names both nodes and shows both values.
type Refusal struct {
	Reason wire.Reason
	Text   string
	// ByPeer: the other side refused this node, and the text is the other side's.
	ByPeer bool
}

// Error is the text.
func (r *Refusal) Error() string { return r.Text }

func refuse(reason wire.Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Text: fmt.Sprintf(format, args...)}
}
