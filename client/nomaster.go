package client

import (
	"errors"
	"fmt"
	"syscall"

	"tenure/api"
)

// NoMasterError is wrapped by Error.Err if a call ended because there is no master, and half of the nodes or more did
// not answer, or all that did are drained. Error.Kind says what became of the call. Err is what happened last, with the
// error of the context.
type NoMasterError struct {
	Answering, Nodes int  // of Client.Endpoints: those that have answered, and all
	Drained          bool // all that have answered are
	Err              error
}

// Error says how many nodes answer.
func (e *NoMasterError) Error() string {
	switch {
	case e.Drained && e.Answering == e.Nodes:
		return "no master: every node is drained; end a drain with kvctl drain NODE --off"
	case e.Drained:
		return fmt.Sprintf("no master: %d of %d nodes answer, and every one of them is drained; see kvctl status",
			e.Answering, e.Nodes)
	}
	verb := "answer"
	if e.Answering == 1 {
		verb = "answers"
	}
	return fmt.Sprintf("no master: %d of %d nodes %s; see kvctl status", e.Answering, e.Nodes, verb)
}

// Unwrap returns what happened last.
func (e *NoMasterError) Unwrap() error { return e.Err }

// reached has the last answer of each endpoint at which a node has answered in one call. An endpoint whose last try
// failed without an answer is not in it.
type reached struct {
	answers map[*endpoint]error
	latest  *endpoint          // of the newest answer
	asked   map[*endpoint]bool // those of which a try was not cut by the end of the call
}

// failed takes how a try at e has failed, and returns what to say of it: the newest answer, if the try has met nobody,
// or was cut by the end of the call.
func (r *reached) failed(e *endpoint, err error) error {
	if r.asked == nil {
		r.asked, r.answers = map[*endpoint]bool{}, map[*endpoint]error{}
	}
	cut := errors.As(err, new(cutError))
	if !cut {
		r.asked[e] = true
	}
	switch {
	case errors.As(err, new(*StatusError)) || errors.Is(err, errNotUnderstood):
		r.answers[e], r.latest = err, e
		return err
	case r.answers[e] != nil && cut:
		return r.answers[e]
	}
	delete(r.answers, e)
	if answer := r.answers[r.latest]; answer != nil && errors.Is(err, syscall.ECONNREFUSED) {
		return answer
	}
	return err
}

// explain returns err as a NoMasterError if the nodes reached have said no more than that they could do nothing, and
// are no majority of all or drained. It says nothing of all while one of them was not asked.
func (r *reached) explain(err error, all []*endpoint) error {
	for _, e := range all {
		if !r.asked[e] {
			return err
		}
	}
	drained := true
	for _, answer := range r.answers {
		var status *StatusError
		if !errors.As(answer, &status) {
			return err
		}
		switch status.Code {
		case api.CodeNotApplied, api.CodeNotReady, api.CodeUnknown:
		default:
			return err
		}
		drained = drained && status.Drained
	}
	if len(r.answers) == 0 || 2*len(r.answers) > len(all) && !drained {
		return err
	}
	return &NoMasterError{Answering: len(r.answers), Nodes: len(all), Drained: drained, Err: err}
}

// cutError is the error of a try that the end of the call has cut. It says nothing about the node.
type cutError struct{ error }

func (e cutError) Unwrap() error { return e.error }
