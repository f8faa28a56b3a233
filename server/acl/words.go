package acl

import "tenure/internal/suggest"

// word says what a word at the top of the rules means.
type word struct {
	kind   Kind
	prefix bool
	named  bool // it is followed by a name and a block
	// ignored: published policies contain it, for parts of Consul that do not exist here. It is read with the same
	// checks, and means nothing.
	ignored bool
}

var words = map[string]word{
	"key":            {kind: Key, named: true},
	"key_prefix":     {kind: Key, named: true, prefix: true},
	"session":        {kind: Session, named: true},
	"session_prefix": {kind: Session, named: true, prefix: true},
	"lease":          {kind: Lease, named: true},
	"lease_prefix":   {kind: Lease, named: true, prefix: true},
	"agent":          {kind: Agent, named: true},
	"agent_prefix":   {kind: Agent, named: true, prefix: true},
	"operator":       {kind: Operator},
	"acl":            {kind: ACL},

	"event":           {ignored: true, named: true},
	"event_prefix":    {ignored: true, named: true},
	"identity":        {ignored: true, named: true},
	"identity_prefix": {ignored: true, named: true},
	"node":            {ignored: true, named: true},
	"node_prefix":     {ignored: true, named: true},
	"query":           {ignored: true, named: true},
	"query_prefix":    {ignored: true, named: true},
	"service":         {ignored: true, named: true},
	"service_prefix":  {ignored: true, named: true},
	"keyring":         {ignored: true},
	"mesh":            {ignored: true},
	"peering":         {ignored: true},
}

// suggestedWords are what a misspelt word may have meant.
var suggestedWords = []string{
	"key", "key_prefix", "session", "session_prefix", "lease", "lease_prefix", "agent", "agent_prefix",
	"operator", "acl",
}

// divisions are the words of Consul Enterprise that divide a cluster. To ignore them would grant what they do not.
var divisions = map[string]bool{
	"namespace": true, "namespace_prefix": true, "partition": true, "partition_prefix": true,
}

// explainWord says what to do about a word that is none.
func explainWord(name string) string {
	if divisions[name] {
		return "there are no namespaces and partitions here: write the rules without them"
	}
	return "no such rule" + suggest.Question(name, "", suggestedWords)
}
