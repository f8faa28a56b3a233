package main

import (
	"fmt"
	"io"

	"github.com/rs/zerolog"

	"tenure/internal/shown"
)

// consoleWriter returns a writer of log lines for people. A line has names and texts of clients and other nodes: what a
// terminal would obey or not show is escaped.
func consoleWriter(out io.Writer, colors bool) io.Writer {
	text := func(v any) string { return shown.Text(fmt.Sprint(v)) }
	return zerolog.ConsoleWriter{
		Out: out, NoColor: !colors, TimeFormat: "15:04:05.000",
		FormatMessage: func(v any) string {
			if v == nil {
				return ""
			}
			return shown.Line(fmt.Sprint(v))
		},
		FormatFieldValue: text,
		FormatErrFieldValue: func(v any) string {
			if colors {
				return "\x1b[31m" + text(v) + "\x1b[0m"
			}
			return text(v)
		},
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
