package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tenure/internal/shown"
	"tenure/server"
)

// adviceError is an error and what to do about it: sentences and command lines. On standard error each has a line of
// its own, from which a command can be copied.
type adviceError struct {
	err    error
	advice []string
}

// Error returns all of it on one line.
func (e *adviceError) Error() string {
	text := oneLine(e.err)
	for _, a := range e.advice {
		text += "; " + strings.TrimSpace(a)
	}
	return strings.ReplaceAll(text, ":; ", ": ")
}

func (e *adviceError) advised() *adviceError { return e }

// Unwrap returns the error.
func (e *adviceError) Unwrap() error { return e.err }

// lines returns err as a person reads it: what is wrong, and below it what to do.
func lines(err error) []string {
	var advice interface{ advised() *adviceError }
	if !errors.As(err, &advice) {
		return []string{"kvnode: " + oneLine(err)}
	}
	e := advice.advised()
	said := strings.Split(oneLine(e.err), ". ")
	list := []string{"kvnode: " + said[0]}
	for _, l := range append(said[1:], e.advice...) {
		list = append(list, "  "+shown.Text(l))
	}
	return list
}

// lastWord is how long a process that ends waits for a supervisor.
const lastWord = time.Second

// showEnd tells why this process ends: a person, the journal, and a supervisor, which would show what the node did
// last.
func showEnd(stderr io.Writer, err error) {
	priority := ""
	switch {
	case !isJournal(stderr):
	case server.Removed(err):
		priority = fmt.Sprintf("<%d>", priorityInfo)
	default:
		priority = fmt.Sprintf("<%d>", priorityError)
	}
	for _, l := range lines(err) {
		fmt.Fprintf(stderr, "%s%s\n", priority, l)
	}
	_ = notify("STATUS="+oneLine(err), time.Now().Add(lastWord)) // nobody is left to be told that it failed
}
