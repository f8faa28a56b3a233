package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEventBytes bounds one event of a stream: the largest value in base64, and its key.
const maxEventBytes = 32 << 20

var errEventTooLarge = errors.New("an event is larger than any node sends: is this a Tenure node?")

// message is one block of a stream of server-sent events. A block with only an ID has no name and no data.
type message struct {
	name  string
	data  []byte // valid until the next message is read
	id    string
	hasID bool
}

// eventReader reads server-sent events from a stream.
type eventReader struct {
	r    *bufio.Reader
	data []byte
	line []byte
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReader(r)} }

// next returns the next block that is not empty.
func (e *eventReader) next() (message, error) {
	var m message
	e.data = e.data[:0]
	for {
		line, err := e.readLine()
		if err != nil {
			return message{}, err
		}
		if len(line) == 0 {
			if m.name == "" && !m.hasID && len(e.data) == 0 {
				continue
			}
			m.data = bytes.TrimSuffix(e.data, []byte("\n"))
			return m, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			m.name = string(value)
		case "id":
			m.id, m.hasID = string(value), true
		case "data":
			if len(e.data)+len(value) > maxEventBytes {
				return message{}, errEventTooLarge
			}
			e.data = append(append(e.data, value...), '\n')
		}
	}
}

// readLine returns a line without its end, valid until the next line is read. If the stream ends within a line, the
// error is io.ErrUnexpectedEOF.
func (e *eventReader) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		piece, err := e.r.ReadSlice('\n')
		if err == nil && len(e.line) == 0 {
			return bytes.TrimRight(piece, "\r\n"), nil
		}
		if len(e.line)+len(piece) > maxEventBytes {
			return nil, errEventTooLarge
		}
		e.line = append(e.line, piece...)
		switch {
		case err == nil:
			return bytes.TrimRight(e.line, "\r\n"), nil
		case err == io.EOF && len(e.line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}
