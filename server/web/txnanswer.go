package web

import (
	"errors"
	"net/http"
	"strconv"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// apply runs a transaction, and answers with what it came to.
func (h *txnHandler) apply(x *exchange, c *kv.Command) error {
	res, err := h.writes.apply(x, c)
	if err != nil {
		return x.txnDenied(c, err)
	}
	if res.Code != kv.CodeDone && res.Code != kv.CodeCondition {
		return service.NotDone(c, &res)
	}
	var out txnOutcome
	if !res.Dropped {
		if out, err = outcomeOf(c, &res); err != nil && res.Code == kv.CodeDone {
			return err // otherwise nothing was changed, and only the reasons are not known
		}
	}
	setReadMeta(x.w.Header(), res.Revision, service.ReadMeta{Revision: res.Revision, KnownLeader: true})
	x.txnDone(out, res.Code == kv.CodeDone)
	return nil
}

// txnDenied answers as Consul does if err is that an operation of c is not allowed: its clients read the body of a
// transaction with 200 and 409 only. Otherwise it returns err, also if it is the fence of c that is not allowed, or
// if the token is unknown: that is no operation's fault.
func (x *exchange) txnDenied(c *kv.Command, err error) error {
	var denied *service.DeniedError
	if !errors.As(err, &denied) {
		return err
	}
	i := service.PartDenied(c, denied)
	if i < 0 {
		return err
	}
	x.req.Line.Lacks(err)
	out := txnOutcome{errors: []txnError{{i, denied.Error()}}}
	x.send(http.StatusConflict, api.CodeDenied, jsonType, appendTxnAnswer(nil, out, false))
	return nil
}

// txnDone answers with what a transaction came to.
func (x *exchange) txnDone(out txnOutcome, done bool) {
	b := appendTxnAnswer(nil, out, done)
	if done {
		x.json(b)
	} else {
		x.send(http.StatusConflict, api.CodeCondition, jsonType, b)
	}
}

// appendTxnAnswer appends an api.TxnAnswer. Of Results and Errors, the one that is not meant is null.
func appendTxnAnswer(b []byte, out txnOutcome, done bool) []byte {
	b = append(b, `{"Results":`...)
	for i := range out.entries {
		b = append(b, "[,"[min(i, 1)])
		b = append(appendEntry(append(b, `{"KV":`...), &out.entries[i], true), '}')
	}
	b = closeList(b, len(out.entries), done)
	b = append(b, `,"Errors":`...)
	for i, e := range out.errors {
		b = append(b, "[,"[min(i, 1)])
		b = strconv.AppendInt(append(b, `{"OpIndex":`...), int64(e.part), 10)
		b = append(appendJSONString(append(b, `,"What":`...), e.what), '}')
	}
	return append(closeList(b, len(out.errors), !done), '}')
}

// closeList ends a list of n elements. An empty one has not been begun.
func closeList(b []byte, n int, meant bool) []byte {
	switch {
	case n > 0:
		return append(b, ']')
	case meant:
		return append(b, "[]"...)
	}
	return append(b, "null"...)
}
