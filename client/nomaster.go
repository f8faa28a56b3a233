package client

import (
	"errors"
	"fmt"
	"syscall"

	"tenure/api"
)

// NoMasterError is wrapped by Error.Err if a call ended because there is no master, and half of the nodes or more did
// not answer. Error.Kind says what became of the call. Err is what happened last, with the error of the context.
type NoMasterError struct {
	Answering, Nodes int // of Client.Endpoints: those that have answered, and all
	Err              error
}

// Error says how many nodes answer.
func (e *NoMasterError) Error() string {
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
	latest  *endpoint // of the newest answer
}

// failed takes how a try at e has failed, and returns what to say of it: the newest answer, if the try has met nobody,
// or was cut by the end of the call.
func (r *reached) failed(e *endpoint, err error) error {
	switch {
	case errors.As(err, new(*StatusError)):
		if r.answers == nil {
			r.answers = map[*endpoint]error{}
		}
		r.answers[e], r.latest = err, e
		return err
	case r.answers[e] != nil && errors.As(err, new(cutError)):
		return r.answers[e]
	}
	delete(r.answers, e)
	if answer := r.answers[r.latest]; answer != nil && errors.Is(err, syscall.ECONNREFUSED) {
		return answer
	}
	return err
}

// explain returns err as a NoMasterError if the nodes reached, no majority of all, have said no more than that they
// could do nothing.
func (r *reached) explain(err error, nodes int) error {
	if len(r.answers) == 0 || 2*len(r.answers) > nodes {
		return err
	}
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
	}
	return &NoMasterError{Answering: len(r.answers), Nodes: nodes, Err: err}
}

// cutError is the error of a try that the end of the call has cut. It says nothing about the node.
type cutError struct{ error }

func (e cutError) Unwrap() error { return e.error }
