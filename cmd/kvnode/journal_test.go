package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/rs/zerolog"
)

// In the journal each line has its level as a priority, so that journalctl -p warning shows warnings.
func TestLinesForTheJournalHaveTheirPriority(t *testing.T) {
	for name, form := range map[string]func(io.Writer) io.Writer{
		"json":    func(to io.Writer) io.Writer { return jsonLines{to} },
		"console": func(to io.Writer) io.Writer { return consoleWriter(to, false, false) },
	} {
		var out bytes.Buffer
		log := zerolog.New(newJournalLines(&out, form)).Level(zerolog.TraceLevel)
		for priority, event := range map[string]*zerolog.Event{
			"<7>": log.Debug(), "<6>": log.Info(), "<4>": log.Warn(), "<3>": log.Error(), "<2>": log.WithLevel(zerolog.FatalLevel),
		} {
			out.Reset()
			event.Str("level of water", "high").Msg("text")
			if got := out.String(); len(got) < 4 || got[:3] != priority || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
				t.Errorf("%s: %q, want %s", name, got, priority)
			}
		}
		out.Reset()
		if log.Log().Msg("text"); out.String()[:3] != "<6>" {
			t.Errorf("%s, without a level: %q", name, out.String())
		}
	}
}
