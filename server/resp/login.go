package resp

import (
	"errors"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// The commands by which clients say who they are.
var loginCommands = []command{
	{name: "auth", arity: -2, alone: true, stranger: true, run: auth},
	{name: "acl", arity: -2, run: aclCommand},
}

const (
	errNoTokens = "ERR AUTH <password> called without any password configured for the default user. " +
		"Are you sure your configuration is correct? (this node has no --acl)"
	errACL = "ERR tokens and policies are made over HTTP, or with kvctl acl; here there is ACL WHOAMI: " +
		"see docs/security.md"
)

// auth is AUTH [user] secret. The user may have any name: the secret says whose it is.
func auth(c *conn, args [][]byte) {
	if len(args) > 3 {
		c.fail(errSyntax)
		return
	}
	user := []byte(nil)
	if len(args) == 3 {
		user = args[1]
	}
	if text := c.login(user, args[len(args)-1]); text != "" {
		c.fail(text)
		return
	}
	c.batch.reply((*proto.Writer).OK)
}

// login makes the client the holder of the token of a secret, or returns why not. user is nil if none was named. Without
// tokens everybody is Redis's user default, who has no password and takes any.
func (c *conn) login(user, secret []byte) (refusal string) {
	switch {
	case !c.to.Decides() && user == nil:
		return errNoTokens
	case !c.to.Decides() && string(user) == "default":
		return ""
	case !c.to.Decides():
		return errWrongPass + ": without --acl there is only the user default"
	}
	if len(secret) > api.MaxSecretBytes {
		return "ERR the secret has " + strconv.Itoa(len(secret)) + " bytes: at most " +
			strconv.Itoa(api.MaxSecretBytes) + " are accepted"
	}
	err := service.ErrUnknownToken // of no secret at all
	if len(secret) > 0 {
		err = c.to.login(string(secret))
	}
	switch {
	case errors.Is(err, service.ErrUnsure), err != nil && !errors.Is(err, service.ErrUnknownToken):
		return errorText(err)
	case err != nil:
		c.trail.refused("auth", err)
		return errWrongPass + ": there is no token with this secret"
	}
	c.changed()
	return ""
}

// changed is called when the client is known, and when it is somebody else.
func (c *conn) changed() {
	c.arrived.nobody = nil
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	c.subs.reader, c.subs.client = c.to.newReader(), c.to.Bounds.Key()
}

// aclCommand is ACL WHOAMI, which replies the accessor of the token.
func aclCommand(c *conn, args [][]byte) {
	if !strings.EqualFold(string(args[1]), "whoami") || len(args) != 2 {
		c.fail(errACL)
		return
	}
	c.batch.reply(func(w *proto.Writer) { w.Text(c.to.user()) })
}
