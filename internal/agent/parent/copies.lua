-- SPDX-FileCopyrightText: The Memcached Operator Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The route "copies" for several pools, and the routes "reads" and "others" for one pool. memcached loads this file beside its own
-- library of routes, routelib. A pool is a group of memcacheds (nodes) that divide the keys. If there are several pools, each pool
-- holds all items. The copies of a request are the nodes that hold its key, one in each pool. A client gets the answer that a single
-- memcached would give, even while one of the copies is unreachable or empty.

-- The weights of answers, in ascending order. The heaviest answer counts: a copy that has the key knows more than an empty copy, and
-- an empty copy knows more than one that is unreachable.
local AWAY <const>, ERROR <const>, ABSENT <const>, REFUSED <const>, DONE <const> = 0, 1, 2, 3, 4

local absent = { [mcp.MCMC_CODE_NOT_FOUND] = true, [mcp.MCMC_CODE_NOT_STORED] = true, [mcp.MCMC_CODE_END] = true }

local function weight(answer)
    local code = answer:code()
    if answer:ok() then
        return absent[code] and ABSENT or DONE
    elseif code ~= mcp.MCMC_CODE_SERVER_ERROR then
        return REFUSED
    end
    return answer:raw_string() and ERROR or AWAY
end

-- missed counts a write that a copy has not executed, because the copy was unreachable or answered with SERVER_ERROR.
local function missed(copies, handle, says)
    if says <= ERROR then
        mcp.stat(copies.missed[handle], 1)
    end
end

-- The function all asks the copies at once, and returns the heaviest answer and its weight. Of several heaviest answers, it returns
-- the first. It also counts missed writes (see the function missed) if a copy has executed or refused the command, or if "decided" is
-- true.
local function all(rctx, copies, request, handles, decided)
    rctx:enqueue(request, handles)
    rctx:wait_cond(#handles, mcp.WAIT_ANY)
    local best, most = nil, -1
    for i = 1, #handles do
        local answer = rctx:result(handles[i])
        local says = weight(answer)
        if says > most then
            best, most = answer, says
        end
    end
    for i = 1, #handles do
        if decided or most >= ABSENT then
            missed(copies, handles[i], weight((rctx:result(handles[i]))))
        end
    end
    return best, most
end

-- write lets each copy execute the command, even if other copies lack the item. It also handles the commands that are not in by_command.
local function write(rctx, copies, request)
    return all(rctx, copies, request, copies.ask)
end

-- the_key_of returns the key of a request as it is written in a new meta command: with the flag b if the key is in base64.
local function the_key_of(request)
    return request:key() .. (request:has_flag("b") and " b" or "")
end

-- miss lets the proxy's own storage, which is empty, answer a read. For an mg, it makes a new request with the flags that matter for a
-- miss. The old request is not usable: when memcached sends a request to a node, it replaces the flag q by a space, and the proxy's
-- own storage refuses such a request.
local function miss(rctx, copies, request)
    if request:command() == mcp.CMD_MG then
        local has_opaque, opaque = request:flag_token("O")
        request = mcp.request("mg " .. the_key_of(request) .. (has_opaque and " O" .. (opaque or "") or "") ..
            (request:has_flag("k") and " k" or "") .. (request:has_flag("q") and " q" or "") .. "\r\n")
    end
    return rctx:enqueue_and_wait(request, copies.internal)
end

-- read asks one copy after another until one has the key, and returns that answer and the copy's number. Otherwise, it returns the first
-- answer without the key, else the first refusal (any error but SERVER_ERROR), else a miss.
local function read(rctx, copies, request)
    local none, refused
    for i = 1, #copies.ask do
        local answer = rctx:enqueue_and_wait(request, copies.ask[i])
        if answer:hit() then
            if i > 1 then
                mcp.stat(copies.found[i], 1)
            end
            return answer, i
        elseif answer:ok() then
            none = none or answer
        elseif weight(answer) == REFUSED then
            refused = refused or answer
        end
    end
    return none or refused or miss(rctx, copies, request)
end

-- One in SAMPLE hits is also read from the copies after the one that has answered. "samples" is how many of these reads of this thread
-- have no answer yet. MOST_SAMPLES limits it: otherwise, a slow copy would use up the requests that the proxy may have at the same time.
local SAMPLE <const>, MOST_SAMPLES <const> = 8, 64
local samples = 0

local function sampled()
    samples = samples - 1
end

-- is_stale reports whether the answer to an mg has an item that a client has marked as stale. Each copy of a stale item gives a token
-- to the next mg. This mg must come from a client, so stale items are not sampled.
local function is_stale(request, answer)
    return request:command() == mcp.CMD_MG and (" " .. (answer:line() or "")):find(" X")
end

-- read_all reads, and also sends a sample of the hits to the later copies, without waiting for their answers. Without these reads, a
-- full copy would evict the items, as nobody reads them there. A full copy keeps an item that is sampled twice before clients have stored
-- as much as the copy's memory holds.
local function read_all(rctx, copies, request)
    local answer, from = read(rctx, copies, request)
    if from and from < #copies.sample and samples < MOST_SAMPLES and math.random(SAMPLE) == 1 and not is_stale(request, answer) then
        local later = table.move(copies.sample, from + 1, #copies.sample, 1, {})
        samples = samples + #later
        rctx:enqueue(mcp.request("mg " .. the_key_of(request) .. "\r\n"), later)
        rctx:wait_cond(0)
    end
    return answer
end

-- forget deletes the key from some copies, so that they have no value instead of a wrong one.
local function forget(rctx, copies, request, handles)
    if #handles == 0 then
        return
    end
    all(rctx, copies, mcp.request("md " .. the_key_of(request) .. "\r\n"), handles, true)
end

-- remove_n removes the flag N from a meta command, and returns a function that adds it again. With N, a node creates a missing item,
-- so an empty copy would create an item that another copy already has. The returned function also adds the flag q, which a request
-- loses when memcached sends it. remove_n edits the request itself: a second request object would hold the value until Lua collects
-- garbage, which is too late for large values.
local function remove_n(request)
    local _, lifetime = request:flag_token("N")
    local quiet = request:has_flag("q")
    request:flag_del("N")
    return function()
        request:flag_add("N", lifetime)
        if quiet then
            request:flag_add("q")
        end
    end
end

-- decide handles commands with a CAS value. It asks one copy after another until one has the key. That copy decides. The others cannot
-- execute the command, because a CAS value is valid for one copy only. If the deciding copy has changed the item, the key is deleted
-- from the others. The command may create the item (flag N) only if no copy has the key.
local function decide(rctx, copies, request)
    local add_n = request:has_flag("N") and remove_n(request)
    local best, most, decider = nil, -1, 0
    for i = 1, #copies.ask do
        local answer = rctx:enqueue_and_wait(request, copies.ask[i])
        local says = weight(answer)
        if says > most then
            best, most, decider = answer, says, i
        end
        if most == DONE then
            break
        end
    end
    if add_n and most == ABSENT then
        add_n()
        return (all(rctx, copies, request, copies.again))
    elseif most == DONE and best:code() ~= mcp.MCMC_CODE_EXISTS then
        local others = table.move(copies.again, 1, #copies.again, 1, {})
        table.remove(others, decider)
        forget(rctx, copies, request, others)
    end
    return best
end

-- add asks one copy after another, so that only one of several simultaneous clients succeeds. If a copy already has the key, the add
-- fails, and the new item is deleted from the copies that have just stored it.
local function add(rctx, copies, request)
    local best, most, away, stored = nil, -1, {}, {}
    for i = 1, #copies.ask do
        local answer = rctx:enqueue_and_wait(request, copies.ask[i])
        local says = weight(answer)
        if says == ABSENT or says == REFUSED then
            forget(rctx, copies, request, stored)
            return answer
        end
        local list = says == DONE and stored or away
        list[#list + 1] = copies.again[i]
        if says > most then
            best, most = answer, says
        end
    end
    if most == DONE then
        for i = 1, #away do
            missed(copies, away[i], AWAY)
        end
    end
    return best
end

-- change asks all copies at once. It lets them create the item (flag N) only if no copy has it.
local function change(rctx, copies, request)
    if not request:has_flag("N") then
        return all(rctx, copies, request, copies.ask)
    end
    local add_n = remove_n(request)
    local answer, says = all(rctx, copies, request, copies.ask)
    if says ~= ABSENT then
        return answer, says
    end
    add_n()
    return all(rctx, copies, request, copies.again)
end

local function meta_get(rctx, copies, request)
    if request:has_flag("T") then
        local answer, says = change(rctx, copies, request)
        return says > ERROR and answer or miss(rctx, copies, request)
    elseif not request:has_flag("N") then
        return read_all(rctx, copies, request)
    end
    local add_n = remove_n(request)
    local answer = read(rctx, copies, request)
    if answer:hit() then
        return answer
    end
    add_n()
    local made, says = all(rctx, copies, request, copies.again)
    return says > ERROR and made or answer
end

local function meta_set(rctx, copies, request)
    local _, mode = request:flag_token("M")
    mode = mode and mode:sub(1, 1)
    if mode == "E" then
        return add(rctx, copies, request) -- memcached ignores a CAS value here
    elseif request:has_flag("C") then
        return decide(rctx, copies, request)
    elseif mode == "A" or mode == "P" then
        return change(rctx, copies, request)
    end
    return write(rctx, copies, request)
end

local function meta_arithmetic(rctx, copies, request)
    if request:has_flag("C") then
        return decide(rctx, copies, request)
    end
    return change(rctx, copies, request)
end

local function meta_delete(rctx, copies, request)
    if request:has_flag("C") then
        return decide(rctx, copies, request)
    end
    return write(rctx, copies, request)
end

local function meta_noop()
    return "MN\r\n"
end

local by_command = {
    [mcp.CMD_GET] = read_all, [mcp.CMD_GETS] = read_all, [mcp.CMD_ME] = read, [mcp.CMD_ADD] = add, [mcp.CMD_CAS] = decide,
    [mcp.CMD_MG] = meta_get, [mcp.CMD_MS] = meta_set, [mcp.CMD_MA] = meta_arithmetic, [mcp.CMD_MD] = meta_delete,
    [mcp.CMD_MN] = meta_noop,
}

-- memcached's own limits: a node refuses a meta command with more tokens, and a key with more bytes.
local MOST_TOKENS <const>, LONGEST_KEY <const> = 20, 250

-- quiet_twice reports whether a meta command has more than one flag q.
local function quiet_twice(request)
    local flags = request:raw_line():match("^[^ ]+ +[^ ]+(.*)$") or ""
    local first = flags:find(" q", 1, true)
    return first and flags:find(" q", first + 1, true)
end

-- is_refused reports whether proxy and node would read a request differently, or whether the node would certainly refuse it. A proxy
-- sends the requests of all clients over few connections. If a node did not answer one of them, or answered it twice, clients would get
-- the answers to others' requests. If a node refuses one, memcached closes the connection, and the requests of others fail.
local function is_refused(request)
    if request:ntokens() > MOST_TOKENS or #request:key() > LONGEST_KEY then
        return true
    elseif not request:has_flag("q") then
        return false
    end
    local _, argument = request:flag_token("q")
    return argument or quiet_twice(request)
end

-- checked returns a function that answers a request as "route" does, unless is_refused.
local function checked(route)
    return function(request)
        if is_refused(request) then
            return "CLIENT_ERROR bad command line format\r\n"
        end
        return (route(request))
    end
end

register_route_handlers({ "copies", "reads", "others" })

-- route_copies{ children = { POOL, POOL... } }
function route_copies_conf(t, ctx)
    t.missed, t.found = {}, {}
    for i = 1, #t.children do
        t.missed[i] = ctx:get_stats_id("missed_writes_" .. i)
        t.found[i] = i > 1 and ctx:get_stats_id("found_in_copy_" .. i)
    end
    t.child_internal = "internal"
    return t
end

function route_copies_start(t, ctx, fgen)
    local copies = { ask = {}, again = {}, sample = {}, missed = {}, found = t.found }
    for i, pool in ipairs(t.children) do
        -- A request can use each handle only once, but may ask a copy twice, by "ask" and "again". The handles for samples have a
        -- callback.
        for _, handles in ipairs({ copies.ask, copies.again, copies.sample }) do
            handles[i] = fgen:new_handle(pool)
            copies.missed[handles[i]] = t.missed[i]
        end
    end
    copies.internal = fgen:new_handle(t.child_internal)
    local function route(rctx)
        for _, handle in ipairs(copies.sample) do
            rctx:handle_set_cb(handle, sampled)
        end
        return checked(function(request)
            return (by_command[request:command()] or write)(rctx, copies, request)
        end)
    end
    fgen:ready({ n = ctx:label(), f = route })
end

-- route_reads{ child = POOL } is for get, gets and mg.
function route_reads_conf(t)
    t.child_internal = "internal"
    return t
end

function route_reads_start(t, ctx, fgen)
    local copies = { ask = { fgen:new_handle(t.child) }, internal = fgen:new_handle(t.child_internal) }
    local function route(rctx)
        return checked(function(request)
            return read(rctx, copies, request)
        end)
    end
    fgen:ready({ n = ctx:label(), f = route })
end

-- route_others{ child = POOL } is for all other commands.
function route_others_conf(t)
    return t
end

function route_others_start(t, ctx, fgen)
    local pool = fgen:new_handle(t.child)
    local function route(rctx)
        return checked(function(request)
            return rctx:enqueue_and_wait(request, pool)
        end)
    end
    fgen:ready({ n = ctx:label(), f = route })
end
