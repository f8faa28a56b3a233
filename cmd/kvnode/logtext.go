package main

import (
	"fmt"
	"io"

	"github.com/rs/zerolog"

	"tenure/internal/shown"
)

// consoleWriter returns a writer of log lines for people. A line has names and texts of clients and other nodes: what a
// terminal would obey or not show is escaped. The lines begin with the time if timed; the journal has its own.
func consoleWriter(out io.Writer, colors, timed bool) io.Writer {
	text := func(v any) string { return shown.Text(fmt.Sprintf("%s", v)) } // v may be the bytes of a list
	styled := func(style, text string) string {
		if !colors {
			return text
		}
		return "\x1b[" + style + "m" + text + "\x1b[0m"
	}
	var without []string
	if !timed {
		without = append(without, zerolog.TimestampFieldName)
	}
	return zerolog.ConsoleWriter{
		Out: out, NoColor: !colors, TimeFormat: "15:04:05.000", PartsExclude: without, FieldsExclude: without,
		FormatMessage: func(v any) string {
			if v == nil {
				return ""
			}
			return styled("1", shown.Line(fmt.Sprint(v)))
		},
		FormatFieldValue:    text,
		FormatErrFieldValue: func(v any) string { return styled("1;31", text(v)) },
	}
}

// jsonLines writes lines of JSON with the same care: somebody may look at them on a terminal.
type jsonLines struct{ w io.Writer }

// Write implements io.Writer. It is given whole lines.
func (j jsonLines) Write(line []byte) (int, error) {
	if _, err := j.w.Write(shown.JSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
