-- SPDX-FileCopyrightText: The Memcached Operator Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The routes of a proxy, for memcached's own routelib. The launcher writes the values into a file beside this one, and checks them before:
-- an error in here ends the proxy and drops its clients.

local values = {}
for line in io.lines((mcp.start_arg:gsub("%.lua$", ".values"))) do
    local key, value = line:match("^(%S+) (%S+)$")
    values[key] = value
end

-- Slots are in the order of the ordinals. The name of a node is what clients hash that connect to the nodes directly. The launcher has
-- looked up its address: memcached would wait for DNS in the threads that serve clients. A node whose address has not changed keeps its
-- connections when this is read again.
local function slots_of(pattern)
    local slots, names = {}, {}
    for i = 0, math.tointeger(values.count) - 1 do
        local name = pattern:gsub("%%d", i)
        if values[name] then
            slots[i + 1] = { label = name, host = values[name], port = "11211" }
        else -- nobody listens there, so that memcached counts the node as away
            slots[i + 1] = { label = name, host = "127.0.0.1", port = "1" }
        end
        names[i + 1] = name
    end
    if #slots == 0 then
        slots[1] = { label = "none", host = "none", port = "11211", down = true }
        names[1] = "none"
    end
    return slots, names
end

-- A node that closes an idle connection is not away: its first failure leads to another connect at once. So a node that hangs
-- costs two timeouts before it counts as away, together a second. From then on it is tried each second.
local patience = { connecttimeout = 0.5, readtimeout = 0.5, failurelimit = 1, retrytimeout = 1 }

-- Whoever reads slowly what it has asked for occupies memory, and so does each key of a get. Beyond this, others that ask get errors, and the
-- proxy stays.
settings{ buffer_memory_limit = math.tointeger(values.buffers), active_req_limit = math.tointeger(values.requests) }

-- A single pool has the ring of libmemcached, on which a direct client and each proxy find the same node for a key. What reads misses in
-- the proxy's own storage, which is empty, if the node is away. What writes gets its error.
local function single(slots, names)
    local ring = {
        hash = mcp.dist_ring_hash.hash,
        new = function(servers, options)
            for i, server in ipairs(servers) do
                server.addr, server.port = names[i], "11211"
            end
            return mcp.dist_ring_hash.new(servers, options)
        end,
    }
    local options = { dist = ring, hash = ring.hash, omode = "twemproxy", obuckets = 160 }
    pools{ main = { options = options, backend_options = patience, backends = slots } }
    local function reading()
        return route_failover{ children = { "main", "internal" } }
    end
    routes{
        cmap = { get = reading(), gets = reading(), mg = reading() },
        default = route_direct{ child = "main" },
    }
end

-- Pools that are copies have memcached's own jump hash, by which slot i of each holds the same keys. See copies.lua.
local function copies(patterns)
    local children = {}
    for i, pattern in ipairs(patterns) do
        children[i] = "copy" .. i
        pools{ [children[i]] = { backend_options = patience, backends = (slots_of(pattern)) } }
    end
    routes{ default = route_copies{ children = children } }
end

local patterns = {}
while values["name" .. #patterns + 1] do
    patterns[#patterns + 1] = values["name" .. #patterns + 1]
end
if #patterns == 1 then
    single(slots_of(patterns[1]))
else
    copies(patterns)
end
