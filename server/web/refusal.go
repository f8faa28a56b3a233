package web

import (
	"context"
	"errors"
	"net/http"

	"tenure/api"
	"tenure/server/service"
)

// refusal is an error that only HTTP has: its status is not that of its code, or it needs headers of its own.
type refusal struct {
	status int // 0: that of the code
	code   api.Code
	text   string
	allow  string // value of Allow, for 405
	close  bool   // the rest of the request is not read: the connection ends
}

func (e *refusal) Error() string { return e.text }

// APICode returns the code.
func (e *refusal) APICode() api.Code { return e.code }

// refuse refuses with a status that is not that of the code.
func refuse(status int, code api.Code, text string) *refusal {
	return &refusal{status: status, code: code, text: text}
}

// tooLarge refuses a body or a value of more than limit bytes. Vault looks for the words "is too large".
func (b *bodies) tooLarge(what string, limit int) *refusal {
	most := byteCount(limit)
	if limit == b.maxValue {
		most += " (--max-value-bytes)"
	}
	return &refusal{code: api.CodeTooLarge, close: true,
		text: what + " is too large: at most " + most + " are accepted: nothing was changed"}
}

// firstError returns the first of errs that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// statuses are the HTTP statuses of the codes. An ID that names no session gets 500, as Consul's clients expect.
var statuses = map[api.Code]int{
	api.CodeCondition: http.StatusConflict, api.CodeNotFound: http.StatusNotFound,
	api.CodeNoSession: http.StatusInternalServerError, api.CodeFenced: http.StatusConflict,
	api.CodeNotNumber: http.StatusConflict, api.CodeBusy: http.StatusConflict, api.CodeLost: http.StatusConflict,

	api.CodeInvalid: http.StatusBadRequest, api.CodeForbidden: http.StatusForbidden, api.CodeDenied: http.StatusForbidden,
	api.CodeUnknownToken: http.StatusForbidden, api.CodeTooLarge: http.StatusRequestEntityTooLarge,
	api.CodeKeyReused: http.StatusConflict, api.CodeNoSpace: http.StatusInsufficientStorage,
	api.CodeFeatureLevel: http.StatusConflict,

	api.CodeMemberBusy: http.StatusConflict, api.CodeNotMember: http.StatusNotFound,
	api.CodeMemberState: http.StatusConflict, api.CodeQuorumLoss: http.StatusConflict,

	api.CodeNotApplied: http.StatusServiceUnavailable, api.CodeOverloaded: http.StatusServiceUnavailable,
	api.CodeQuarantine: http.StatusServiceUnavailable, api.CodeNotReady: http.StatusServiceUnavailable,
	api.CodeOtherCluster: http.StatusServiceUnavailable, // Consul's clients ask another node then

	api.CodeUnknown: http.StatusGatewayTimeout, api.CodeKeyTooOld: http.StatusGatewayTimeout,
	api.CodeInternal: http.StatusInternalServerError,
}

// codeOf returns the status and the code of err. An error without a code comes from a read: those of writes have one,
// from service.InDoubt.
func codeOf(err error) (status int, code api.Code) {
	code, ok := service.CodeOf(err)
	if !ok {
		code = api.CodeInternal
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			code = api.CodeNotApplied
		}
	}
	var r *refusal
	var fast *service.TooFastError
	switch {
	case errors.As(err, &r) && r.status != 0:
		return r.status, code
	case errors.As(err, &fast):
		return http.StatusTooManyRequests, code
	}
	return statuses[code], code
}
