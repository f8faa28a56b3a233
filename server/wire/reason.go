package wire

// Reason tells why a node refused another.
type Reason uint8

// The reasons. The numbers are on the wire: they are never reused.
const (
	ReasonVersion    Reason = 1  // they speak different versions of the protocol
	ReasonNotReady   Reason = 2  // the node has no cluster yet, or is still starting; the only one that passes by itself
	ReasonSelf       Reason = 3  // the node has reached itself
	ReasonNode       Reason = 4  // dialled as one node, it is another; or two processes use one node id
	ReasonCluster    Reason = 5  // they belong to different clusters
	ReasonNotMember  Reason = 6  // the membership does not list the node
	ReasonStore      Reason = 7  // the membership lists the node with another store
	ReasonConstants  Reason = 8  // the cluster constants differ
	ReasonRestart    Reason = 9  // the store's restart counter did not grow
	ReasonRolledBack Reason = 10 // the store has forgotten promises or votes
	ReasonBootstrap  Reason = 11 // a membership that this node must not accept
	ReasonLists      Reason = 12 // the nodes were started with different lists
)
