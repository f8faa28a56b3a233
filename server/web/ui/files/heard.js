// Whom a node hears, judged from its status alone, so that the headline, the table and the problems never disagree.

// silent is how long a member may say nothing before it counts as not heard. Members say something ten times a second.
// A connection to a member that hangs ends only after four seconds.
const silent = 2000; // ms

const votes = (s) => s.role !== "non-voter" && s.role !== "none";

// hears reports whether the node hears a member now. p is a peer of the status, or a member of a list.
export const hears = (p) => p.connected && p.last_heard_ms >= 0 && p.last_heard_ms < silent;

// masterOf returns the master that the node hears, or 0. A node names a master for a while after it has lost it.
export function masterOf(s) {
  const peer = s.peers.find((p) => p.node === s.master);
  return s.master === s.node || (peer && hears(peer)) ? s.master : 0;
}

// voters returns how many voters the node hears, itself included, and how many there are.
export function voters(s) {
  const others = s.peers.filter((p) => !p.non_voter);
  const self = votes(s) ? 1 : 0;
  return [self + others.filter(hears).length, self + others.length];
}

// membersNow returns the members of a list, which may be some seconds old, with what the status says of them. Without a
// list, the status alone tells who the members are.
export function membersNow(list, s) {
  const now = [ofSelf(s), ...s.peers.map((p) => ofPeer(p, s))];
  if (!list) return now.sort((a, b) => a.node - b.node);
  return list.map((m) => {
    const { voter, name, client_address, ...rest } = now.find((x) => x.node === m.node) ?? {};
    return { ...m, ...rest, client_address: client_address || m.client_address };
  });
}

const ofSelf = (s) => ({
  node: s.node,
  name: s.name ?? `node-${s.node}`,
  voter: votes(s),
  connected: true,
  applied: s.applied,
  lag: s.chosen - s.applied,
  last_heard_ms: 0,
  draining: s.draining,
  snapshot: s.snapshot,
  client_address: "",
});

const ofPeer = (p, s) => ({
  node: p.node,
  name: p.name,
  voter: !p.non_voter,
  connected: p.connected,
  applied: p.chosen,
  lag: Math.max(0, s.chosen - p.chosen),
  last_heard_ms: p.last_heard_ms,
  client_address: p.client_address,
});
