package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/rs/zerolog"
)

// isJournal reports whether stderr is the journal of systemd, which takes the priority of a line from its beginning:
// see sd-daemon(3).
func isJournal(stderr io.Writer) bool {
	if stderr != io.Writer(os.Stderr) {
		return false
	}
	is, err := journal.StderrIsJournalStream()
	return is && err == nil
}

// The priorities of syslog(3) that lines have in the journal.
const (
	priorityCritical = 2
	priorityError    = 3
	priorityWarning  = 4
	priorityInfo     = 6
	priorityDebug    = 7
)

// journalLines writes lines of zerolog in another form, each with its priority.
type journalLines struct {
	to   io.Writer
	line *bytes.Buffer // with the priority
	form io.Writer     // writes to line
}

func newJournalLines(to io.Writer, form func(io.Writer) io.Writer) journalLines {
	line := &bytes.Buffer{}
	return journalLines{to: to, line: line, form: form(line)}
}

// Write implements io.Writer. It is given whole lines, by one goroutine.
func (j journalLines) Write(line []byte) (int, error) {
	j.line.Reset()
	fmt.Fprintf(j.line, "<%d>", priorityOf(line))
	if _, err := j.form.Write(line); err != nil {
		return 0, err
	}
	if _, err := j.to.Write(j.line.Bytes()); err != nil {
		return 0, err
	}
	return len(line), nil
}

// priorityOf returns the priority of a line of zerolog, which begins with its level.
func priorityOf(line []byte) int {
	rest, found := bytes.CutPrefix(line, []byte(`{"`+zerolog.LevelFieldName+`":"`))
	level, _, _ := bytes.Cut(rest, []byte(`"`))
	if !found {
		return priorityInfo
	}
	switch string(level) {
	case zerolog.LevelTraceValue, zerolog.LevelDebugValue:
		return priorityDebug
	case zerolog.LevelWarnValue:
		return priorityWarning
	case zerolog.LevelErrorValue:
		return priorityError
	case zerolog.LevelFatalValue, zerolog.LevelPanicValue:
		return priorityCritical
	}
	return priorityInfo
}
