package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// A line of the log is one line and has nothing that a terminal obeys, whatever a client or another node has sent.
func TestLinesOfTheLogAreHarmless(t *testing.T) {
	const hostile = "x\n\x1b]0;OWNED\a\u009b2J\u202eevil\u200b\u3164\x7f\r"
	for _, format := range []string{formatText, "json"} {
		var out bytes.Buffer
		log, flush := newLogger(&out, format, zerolog.InfoLevel)
		log.Info().Str("key", hostile).Err(errors.New(hostile)).Strs("list", []string{hostile}).Msg("said: " + hostile)
		flush()
		text, ok := strings.CutSuffix(out.String(), "\n")
		if !ok || strings.ContainsAny(text, "\n\r\a\x1b\x7f\u009b\u202e\u200b\u3164") {
			t.Errorf("%s: %q", format, text)
		}
		if format == formatText && !strings.Contains(text, `list=["x\n`) {
			t.Errorf("the list is not written as JSON: %s", text)
		}
		var line map[string]any
		if format == "json" && (json.Unmarshal([]byte(text), &line) != nil || line["message"] != "said: "+hostile) {
			t.Errorf("%q says %q", text, line)
		}
	}
}
